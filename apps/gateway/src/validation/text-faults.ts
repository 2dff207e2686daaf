import { type Faults, ServiceError } from '@leadwire/service-kit'
import { labelOf } from './sentences'

// Deeper than this PHP reads no JSON either, and recursive code behind (JSON.stringify) would run out of stack.
const MAX_DEPTH = 512
const MAX_FAULTS = 1000

const LONE_SURROGATE = /\p{Surrogate}/u

const isFaulty = (text: string) => text.includes('\0') || LONE_SURROGATE.test(text)

/**
 * The fields, at any depth and known or not, whose text or key holds a NUL or half a character. PostgreSQL stores
 * neither, and a webhook's body could not be rendered from them. Throws bad_request on absurd nesting.
 */
export const textFaults = (fields: Record<string, unknown>): Faults => {
  const faulty = new Set<string>()
  const todo: { value: object; path: string; depth: number }[] = [{ value: fields, path: '', depth: 1 }]
  // A list instead of recursion: the nesting is the client's.
  for (let next = todo.pop(); next && faulty.size < MAX_FAULTS; next = todo.pop()) {
    const { value, path, depth } = next
    if (depth > MAX_DEPTH)
      throw new ServiceError('bad_request', `The body is nested deeper than ${MAX_DEPTH} levels.`)
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key]
      if (typeof member === 'object' && member !== null) {
        todo.push({ value: member, path: `${path}${key}.`, depth: depth + 1 })
      } else if (typeof member === 'string' && isFaulty(member)) {
        faulty.add(`${path}${key}`)
      }
      if (isFaulty(key)) faulty.add(`${path}${key}`)
    }
  }
  return Object.fromEntries(
    [...faulty].map((field) => [field, [`The ${labelOf(field)} contains characters that are not allowed.`]]),
  )
}
