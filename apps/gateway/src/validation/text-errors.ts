import { ServiceError } from '@leadwire/service-kit'
import type { FieldErrors } from './errors'
import { labelOf } from './messages'

// Deeper than this PHP reads no JSON either, and recursive code behind (JSON.stringify) would run out of stack.
const MAX_DEPTH = 512
const MAX_ERRORS = 1000
// A key may be as long as the body, and every error below it would repeat it.
const MAX_NAME = 255

const LONE_SURROGATE = /\p{Surrogate}/u

const isRefused = (text: string) => text.includes('\0') || LONE_SURROGATE.test(text)

const nameOf = (path: string, key: string) => {
  const name = `${path}${key}`
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name
}

/**
 * The fields, at any depth and known or not, whose text or key holds a NUL or half a character. PostgreSQL stores
 * neither, and a webhook's body could not be rendered from them. Very long names are cut. Throws bad_request on absurd
 * nesting.
 */
export const textErrors = (fields: Record<string, unknown>): FieldErrors => {
  const faulty = new Set<string>()
  const note = (path: string, key: string) => {
    if (faulty.size < MAX_ERRORS) faulty.add(nameOf(path, key))
  }
  const todo: { value: object; path: string; depth: number }[] = [{ value: fields, path: '', depth: 1 }]
  // A list instead of recursion: the nesting is the client's. It is followed to its end, however many errors there are.
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { value, path, depth } = next
    if (depth > MAX_DEPTH)
      throw new ServiceError('bad_request', `The body is nested deeper than ${MAX_DEPTH} levels.`)
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key]
      if (typeof member === 'object' && member !== null) {
        todo.push({ value: member, path: `${nameOf(path, key)}.`, depth: depth + 1 })
      } else if (typeof member === 'string' && isRefused(member)) {
        note(path, key)
      }
      if (isRefused(key)) note(path, key)
    }
  }
  return Object.fromEntries(
    [...faulty].map((field) => [field, [`The ${labelOf(field)} contains characters that are not allowed.`]]),
  )
}
