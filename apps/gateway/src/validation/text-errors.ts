import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { labelOf } from './messages'

// PHP's limit. Deeper values would overflow the stack of recursive code such as JSON.stringify.
const MAX_DEPTH = 512
const MAX_ERRORS = 1000
// A key may be as long as the body, and each error below it repeats it.
const MAX_NAME = 255

const LONE_SURROGATE = /\p{Surrogate}/u

const isRefused = (text: string) => text.includes('\0') || LONE_SURROGATE.test(text)

export const nameOf = (path: string, key: string): string => {
  const name = `${path}${key}`
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name
}

/** Errors of fields at any depth, known or not, with a NUL or a lone surrogate. Throws bad_request for one too deep. */
export const textErrors = (fields: Record<string, unknown>): FieldErrors => {
  const refused = new Set<string>()
  const todo: { value: object; path: string; depth: number }[] = [{ value: fields, path: '', depth: 1 }]
  // A list instead of recursion, because the client decides the depth. All levels are visited, however many errors there are.
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { value, path, depth } = next
    if (depth > MAX_DEPTH)
      throw new ServiceError('bad_request', `The body is nested deeper than ${MAX_DEPTH} levels.`)
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key]
      if (typeof member === 'object' && member !== null)
        todo.push({ value: member, path: `${nameOf(path, key)}.`, depth: depth + 1 })
      const isWrong = isRefused(key) || (typeof member === 'string' && isRefused(member))
      if (isWrong && refused.size < MAX_ERRORS) refused.add(nameOf(path, key))
    }
  }
  return Object.fromEntries(
    [...refused].map((field) => [field, [`The ${labelOf(field)} contains characters that are not allowed.`]]),
  )
}
