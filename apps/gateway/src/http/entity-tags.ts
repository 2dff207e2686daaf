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

/** The tag of a body in a content encoding, made of the tag of the body. No tag of ours has a `+` of its own. */
export const etagOfEncoding = (etag: string, encoding: string) => `${etag.slice(0, -1)}+${encoding}"`

const withoutEncoding = (tag: string) => tag.replace(/\+(br|gzip)"$/, '"')

/** The tag of If-None-Match that names what `etag` names, in whatever encoding the client has it. */
const knownTag = ({ headers }: Pick<FastifyRequest, 'headers'>, etag: string): string | undefined => {
  const header = headers['if-none-match']
  if (header === undefined) return undefined
  if (header.trim() === '*') return etag
  return tagsOf(header)
    ?.map(withoutWeakness)
    .find((tag) => withoutEncoding(tag) === withoutWeakness(etag))
}

/**
 * Whether the client has what `etag` names already (If-None-Match; RFC 9110, 13.1.2): tags are compared weakly, and `*` names
 * everything. A header that is no list of tags is ignored: a whole response is right for everyone.
 */
export const isKnown = (request: Pick<FastifyRequest, 'headers'>, etag: string): boolean =>
  knownTag(request, etag) !== undefined

/** Gives the response its entity tag. A copy of leads-service of a release before tells none. */
export const tagged = <Body>(reply: FastifyReply, etag: string | undefined, body: Body): Body => {
  if (etag !== undefined) reply.header('etag', etag)
  return body
}

/** The same for a read: where the client has the body already, it gets 304, with the tag that it has, and none (undefined). */
export const unlessKnown = <Body>(
  request: FastifyRequest,
  reply: FastifyReply,
  etag: string | undefined,
  body: Body,
): Body | undefined => {
  const known = etag === undefined ? undefined : knownTag(request, etag)
  if (known === undefined) return tagged(reply, etag, body)
  reply.code(304)
  // For HEAD Fastify makes the Content-Length of the body, and of none it would make 0, which no GET has (RFC 9110, 8.6).
  return tagged(reply, known, request.method === 'HEAD' ? body : undefined)
}

/**
 * The entity tags one of which a change demands (If-Match; RFC 9110, 13.1.1), without the weak ones, which match nothing.
 * Undefined where it demands none: without the header, and with `*`, because what is not there is 404 anyway. A change is
 * one of all encodings, so the tag of each of them counts. Throws bad_request.
 */
export const demandedTags = ({ headers }: FastifyRequest): { etags: string[] } | undefined => {
  const header = headers['if-match']
  if (header === undefined || header.trim() === '*') return undefined
  const tags = tagsOf(header)
  if (!tags) throw new ServiceError('bad_request', 'If-Match must be * or a list of entity tags in quotes.')
  return { etags: tags.filter((tag) => !tag.startsWith('W/')).map(withoutEncoding) }
}
