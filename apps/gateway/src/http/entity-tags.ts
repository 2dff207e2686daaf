import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'

// A tag may contain a comma, and a list may have empty elements (RFC 9110, 8.8.3 and 5.6.1).
const ELEMENT = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y

/** Returns the entity tags of a list. Returns undefined for a malformed or empty list. */
const parseTags = (header: string): string[] | undefined => {
  const tags: string[] = []
  ELEMENT.lastIndex = 0
  while (ELEMENT.lastIndex < header.length) {
    const element = ELEMENT.exec(header)
    if (!element) return undefined
    if (element[1] !== undefined) tags.push(element[1])
  }
  return tags.length > 0 ? tags : undefined
}

const withoutWeakness = (tag: string) => tag.replace(/^W\//, '')

/** Adds a content encoding to the tag of a body: `"x+gzip"` for `"x"`. No other tag contains a `+`. */
export const addEncoding = (etag: string, encoding: string) => `${etag.slice(0, -1)}+${encoding}"`

const withoutEncoding = (tag: string) => tag.replace(/\+(br|gzip)"$/, '"')

/**
 * Returns the tag in If-None-Match that matches `etag`, whatever the encoding in the tag (RFC 9110, 13.1.2).
 * Returns undefined if no tag matches or the header is malformed.
 */
const knownTag = ({ headers }: FastifyRequest, etag: string): string | undefined => {
  const header = headers['if-none-match']
  if (header === undefined) return undefined
  if (header.trim() === '*') return etag
  return parseTags(header)
    ?.map(withoutWeakness)
    .find((tag) => withoutEncoding(tag) === withoutWeakness(etag))
}

/** Returns whether the client already has the body with this tag. */
export const isKnown = (request: FastifyRequest, etag: string): boolean =>
  knownTag(request, etag) !== undefined

export const tagged = <Body>(reply: FastifyReply, etag: string | undefined, body: Body): Body => {
  if (etag !== undefined) reply.header('etag', etag)
  return body
}

/**
 * Returns the body and sets its tag. If the client already has the body, sets the status 304 and the client's
 * tag instead, and returns undefined for GET.
 */
export const unlessKnown = <Body>(
  reply: FastifyReply,
  etag: string | undefined,
  body: Body,
): Body | undefined => {
  const known = etag === undefined ? undefined : knownTag(reply.request, etag)
  if (known === undefined) return tagged(reply, etag, body)
  reply.code(304)
  // Keeps the body for HEAD, because Fastify takes Content-Length from the body. Without a body,
  // Content-Length would be 0, unlike in the response to GET (RFC 9110, 8.6).
  return tagged(reply, known, reply.request.method === 'HEAD' ? body : undefined)
}

/**
 * Returns the entity tags in If-Match (RFC 9110, 13.1.1), without their encodings. Returns the single tag `*`
 * for the header `*`. Omits weak tags, because a weak tag in If-Match matches nothing. Returns undefined
 * without the header. Throws `bad_request` for a malformed header.
 */
export const readIfMatch = ({ headers }: FastifyRequest): { etags: string[] } | undefined => {
  const header = headers['if-match']
  if (header === undefined) return undefined
  if (header.trim() === '*') return { etags: ['*'] }
  const tags = parseTags(header)
  if (!tags) throw new ServiceError('bad_request', 'If-Match must be * or a list of entity tags in quotes.')
  return { etags: tags.filter((tag) => !tag.startsWith('W/')).map(withoutEncoding) }
}
