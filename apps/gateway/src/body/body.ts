import { ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission'
import { ProblemError } from '../http/problem'
import { decodeUtf8 } from '../http/utf8'
import type { Body } from '../validation/checker'
import { textErrors } from '../validation/text-errors'
import { parseForm } from './form'
import { createLargeBodyParser, isLarge } from './large-bodies'
import { hasBody } from './unread-body'

const NO_BODY: Body = { fields: {}, errors: {} }

const JSON_TYPE = /^application\/(?:[\w.!#$&^+-]+\+)?json(?:\s*;|$)/i
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Throws bad_request for text that is no JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ServiceError('bad_request', 'The body is not well-formed JSON.', { cause })
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The body that bytes of JSON are. Throws bad_request, or invalid where it is no object. */
export const jsonBody = (bytes: Buffer): Body => {
  const json = decodeUtf8(bytes)
  const fields = parseJson(json)
  if (!isObject(fields)) throw new ServiceError('invalid', 'The body must be a JSON object.')
  return { fields, json, errors: textErrors(fields) }
}

const formBody = (bytes: Buffer): Body => {
  const text = decodeUtf8(bytes)
  // As `curl -d` sends it, unless told otherwise. Of its fields none would be found.
  if (/^\s*(\{.*\}|\[.*\])\s*$/s.test(text)) {
    const detail = `The body looks like JSON, but its Content-Type is ${FORM_TYPE}. Send Content-Type: application/json.`
    throw new ProblemError('unsupported-media-type', detail)
  }
  const fields = parseForm(text)
  return { fields, form: true, errors: textErrors(fields) }
}

/** The charset that a Content-Type names, in lower case. */
export const charsetOf = (type: string): string | undefined =>
  /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1]?.toLowerCase()

/** What an import is sent as. */
const IMPORT_TYPE = /^(text\/csv|application\/x-ndjson)/i

const otherCharset = (type: string) => {
  const charset = charsetOf(type)
  const isRead = charset === undefined || /^utf-?8$/.test(charset)
  // Spreadsheets on Windows write it.
  return !isRead && !(charset === 'windows-1252' && IMPORT_TYPE.test(type))
}

const unreadable = ({ headers }: FastifyRequest): ProblemError | undefined => {
  const { 'content-encoding': coding, 'transfer-encoding': transfer, 'content-type': type = '' } = headers
  // Nothing here unpacks: a small body could become one without bounds (RFC 9110, 15.5.16 and 12.5.3). Node takes off `chunked` alone.
  if (transfer !== undefined && !/^chunked$/i.test(transfer))
    return new ProblemError(
      'unsupported-media-type',
      'Bodies with a Transfer-Encoding other than chunked are not read.',
    )
  if (coding !== undefined && !/^identity$/i.test(coding)) {
    const headers = { 'accept-encoding': 'identity' }
    return new ProblemError('unsupported-media-type', 'Bodies with a Content-Encoding are not read.', headers)
  }
  return otherCharset(type)
    ? new ProblemError('unsupported-media-type', 'Bodies are read in UTF-8 only.')
    : undefined
}

const refuseOtherCodings = (app: FastifyInstance): void => {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    done((hasBody(request) && unreadable(request)) || null, payload)
  })
}

const tooSlow = () => new ProblemError('timeout', 'The request did not arrive in time.')

/** What is read while it comes, and has limits of its own: files, and the leads of an import. */
const STREAMED_TYPE = /^(multipart\/|text\/csv|application\/x-ndjson)/i

/** Answers a body that stalls when its request's time is over. */
const limitBodies = (app: FastifyInstance): void => {
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (hasBody(request) && !STREAMED_TYPE.test(request.headers['content-type'] ?? '')) {
      const timer = setTimeout(() => reply.send(tooSlow()), request.deadline.getTime() - Date.now())
      const arrived = () => clearTimeout(timer)
      request.raw.once('end', arrived)
      reply.raw.once('close', arrived)
    }
    done(null, payload)
  })
}

/**
 * Reads JSON and form bodies, and nothing else. Fastify's own JSON parser refuses keys such as __proto__; here they
 * are unknown fields like any other, because nothing is ever merged from a body.
 */
export const readBodies = (app: FastifyInstance, admission: Admission): void => {
  app.removeAllContentTypeParsers()
  const parseLarge = createLargeBodyParser(admission)
  refuseOtherCodings(app)
  limitBodies(app)
  const parserOf = (parse: (bytes: Buffer) => Body) => async (request: FastifyRequest, bytes: Buffer) => {
    // The services have had none of the time that the client took.
    if (request.deadline.getTime() <= Date.now()) throw tooSlow()
    if (isLarge(bytes)) return parseLarge(request, () => parse(bytes))
    return bytes.length === 0 ? NO_BODY : parse(bytes)
  }
  app.addContentTypeParser(JSON_TYPE, { parseAs: 'buffer' }, parserOf(jsonBody))
  app.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer' }, parserOf(formBody))
  refuseOtherTypes(app)
}

/** Answers 415 to a body of a type that the routes of `app` have no parser for. */
export const refuseOtherTypes = (app: FastifyInstance): void => {
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    if (!hasBody(request)) return undefined
    throw new ProblemError('unsupported-media-type', 'The Content-Type is not one this operation reads.')
  })
}

/** The body of a request whose route reads JSON and forms; a request without one counts as `{}`. */
export const bodyOf = (request: FastifyRequest): Body => (request.body as Body | undefined) ?? NO_BODY
