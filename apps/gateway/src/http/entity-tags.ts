import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'

// A tag may hold a comma, and a list empty elements (RFC 9110, 8.8.3 and 5.6.1).
const ELEMENT = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y

/** The entity tags of a list; undefined where the header is no such list. */
const tagsOf = (header: string): string[] | undefined => {
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

/** The tag of a body in a content encoding. No other tag of ours has a `+`. */
export const etagOfEncoding = (etag: string, encoding: string) => `${etag.slice(0, -1)}+${encoding}"`

const withoutEncoding = (tag: string) => tag.replace(/\+(br|gzip)"$/, '"')

/** The tag of If-None-Match that names this body, in any encoding (RFC 9110, 13.1.2). A malformed header is ignored. */
const knownTag = ({ headers }: FastifyRequest, etag: string): string | undefined => {
  const header = headers['if-none-match']
  if (header === undefined) return undefined
  if (header.trim() === '*') return etag
  return tagsOf(header)
    ?.map(withoutWeakness)
    .find((tag) => withoutEncoding(tag) === withoutWeakness(etag))
}

/** Whether the client has the body that `etag` names. */
export const isKnown = (request: FastifyRequest, etag: string): boolean =>
  knownTag(request, etag) !== undefined

export const tagged = <Body>(reply: FastifyReply, etag: string | undefined, body: Body): Body => {
  if (etag !== undefined) reply.header('etag', etag)
  return body
}

/** The body of a read; undefined, with the status 304 and the client's tag, where the client has it. */
export const unlessKnown = <Body>(
  reply: FastifyReply,
  etag: string | undefined,
  body: Body,
): Body | undefined => {
  const known = etag === undefined ? undefined : knownTag(reply.request, etag)
  if (known === undefined) return tagged(reply, etag, body)
  reply.code(304)
  // Fastify makes Content-Length of the body, on HEAD too. Without a body it would be 0, which no GET has (RFC 9110, 8.6).
  return tagged(reply, known, reply.request.method === 'HEAD' ? body : undefined)
}

/**
 * The entity tags of If-Match (RFC 9110, 13.1.1), without weak ones, which match nothing; `*` alone where any will do.
 * Undefined without the header. The tag of each encoding counts. Throws bad_request.
 */
export const ifMatchOf = ({ headers }: FastifyRequest): { etags: string[] } | undefined => {
  const header = headers['if-match']
  if (header === undefined) return undefined
  if (header.trim() === '*') return { etags: ['*'] }
  const tags = tagsOf(header)
  if (!tags) throw new ServiceError('bad_request', 'If-Match must be * or a list of entity tags in quotes.')
  return { etags: tags.filter((tag) => !tag.startsWith('W/')).map(withoutEncoding) }
}
