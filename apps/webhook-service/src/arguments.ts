import { snakeCase } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'

/** Whether a header may carry a text (RFC 9110, 5.5): visible ASCII characters, and spaces between them. */
export const isHeaderValue = (text: string): boolean => /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)

/** For `validate`. */
export const isOneOf = (words: readonly string[], word: string | undefined) =>
  word === undefined || words.includes(word) || `must be one of ${words.join(', ')}`

/** Throws invalid with every field that has a violation: what it must be. */
export const validate = (violations: Record<string, string | true | undefined>): void => {
  const found: FieldErrors = {}
  for (const [field, violation] of Object.entries(violations))
    if (typeof violation === 'string') found[field] = [violation]
  if (Object.keys(found).length > 0) throw ServiceError.invalid(found)
}

const SELF_CHECKED = new Set(['url', 'secret', 'eventIds', 'page', 'overlapMs', 'afterSequence'])
// The limit of the API: the command line calls without the gateway.
const MAX_TEXT = 255

const violationOf = (name: string, value: unknown): string | undefined => {
  if (SELF_CHECKED.has(name) || value === undefined) return undefined
  if (typeof value === 'number')
    return Number.isSafeInteger(value) && value > 0 ? undefined : 'must be an id: 1 or more'
  if (typeof value !== 'string') return undefined
  // PostgreSQL stores no NUL in a text.
  if (value.includes('\0')) return 'must not contain a NUL character'
  return [...value].length > MAX_TEXT ? `must not be longer than ${MAX_TEXT} characters` : undefined
}

/** Throws invalid for ids below 1, and for texts that are too long or have a NUL. Operations check the rest. */
export const validateRequest = (request: object): void =>
  validate(
    Object.fromEntries(
      Object.entries(request).map(([name, value]) => [snakeCase(name), violationOf(name, value)]),
    ),
  )
