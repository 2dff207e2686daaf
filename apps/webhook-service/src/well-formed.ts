import { type Faults, ServiceError } from '@leadwire/service-kit'

/** These say themselves what they take. */
const CHECKED_ELSEWHERE = new Set(['url', 'secret', 'eventIds', 'page', 'overlapMs'])
// As the API takes it: the command line comes here past the gateway's checks.
const MAX_TEXT = 255

const faultOf = (name: string, value: unknown): string | undefined => {
  if (CHECKED_ELSEWHERE.has(name) || value === undefined) return undefined
  if (typeof value === 'number')
    return Number.isSafeInteger(value) && value > 0 ? undefined : 'must be an id: 1 or more'
  if (typeof value !== 'string') return undefined
  // PostgreSQL takes no NUL in a text.
  if (value.includes('\0')) return 'must not contain a NUL character'
  return [...value].length > MAX_TEXT ? `must not be longer than ${MAX_TEXT} characters` : undefined
}

const inSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Throws invalid for what PostgreSQL can't look up: ids are 1 or more, texts have no NUL. */
export const checkWellFormed = (request: object): void => {
  const faults: Faults = {}
  for (const [name, value] of Object.entries(request)) {
    const fault = faultOf(name, value)
    if (fault) faults[inSnakeCase(name)] = [fault]
  }
  if (Object.keys(faults).length > 0) throw ServiceError.invalid(faults)
}
