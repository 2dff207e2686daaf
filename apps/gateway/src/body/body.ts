import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError, TooBusy } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parse } from 'qs'
import type { Admission } from '../admission/admission'
import { ProblemError } from '../http/problem'
import { decodePercent, decodeUtf8, notUtf8 } from '../http/utf8'
import type { Body } from '../validation/checker'
import { textErrors } from '../validation/text-errors'
import { hasBody } from './unread-body'

const NO_BODY: Body = { fields: {}, errors: {} }

const JSON_TYPE = /^application\/(?:[\w.!#$&^+-]+\+)?json(?:\s*;|$)/i
const FORM_TYPE = 'application/x-www-form-urlencoded'

export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ServiceError('bad_request', 'The body is not well-formed JSON.', { cause })
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Throws bad_request, or invalid for JSON that is no object. */
export const jsonBody = (bytes: Buffer): Body => {
  const json = decodeUtf8(bytes)
  const fields = parseJson(json)
  if (!isObject(fields)) throw new ServiceError('invalid', 'The body must be a JSON object.')
  return { fields, json, errors: textErrors(fields) }
}

const MAX_FIELDS = 20_000
const MAX_ENTRIES = 1000

const decoder = (text: string): string => {
  const decoded = decodePercent(text.replaceAll('+', ' '))
  if (decoded === undefined) throw notUtf8()
  return decoded
}

/** Repeated fields are an array, and brackets make arrays and objects: `scopes=a&scopes=b`, `scopes[]=a`, `options[width]=5`. */
const parseForm = (text: string): Record<string, unknown> => {
  try {
    return parse(text, {
      plainObjects: true,
      depth: 10,
      arrayLimit: MAX_ENTRIES,
      parameterLimit: MAX_FIELDS,
      throwOnLimitExceeded: true,
      duplicates: 'combine',
      decoder,
    })
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new ServiceError(
      'too_large',
      `The form may not have more than ${MAX_FIELDS} fields, nor a list more than ${MAX_ENTRIES} entries.`,
      { cause },
    )
  }
}

const formBody = (bytes: Buffer): Body => {
  const text = decodeUtf8(bytes)
  // `curl -d` sends JSON with this type by default. None of its fields would be found.
  if (/^\s*(\{.*\}|\[.*\])\s*$/s.test(text)) {
    const detail = `The body looks like JSON, but its Content-Type is ${FORM_TYPE}. Send Content-Type: application/json.`
    throw unsupported(detail)
  }
  const fields = parseForm(text)
  return { fields, form: true, errors: textErrors(fields) }
}

/** The charset that a Content-Type names, in lower case. */
export const charsetOf = (type: string): string | undefined =>
  /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1]?.toLowerCase()

const IMPORT_TYPE = /^(text\/csv|application\/x-ndjson)/i

const isReadCharset = (type: string) => {
  const charset = charsetOf(type) ?? 'utf-8'
  // Spreadsheets on Windows write Windows-1252.
  return /^utf-?8$/.test(charset) || (charset === 'windows-1252' && IMPORT_TYPE.test(type))
}

const unsupported = (detail: string, headers?: Record<string, string>) =>
  new ProblemError('unsupported-media-type', detail, headers)

const unreadable = ({ headers }: FastifyRequest): ProblemError | undefined => {
  const { 'content-encoding': coding, 'transfer-encoding': transfer, 'content-type': type = '' } = headers
  // Bodies are never unpacked: a small one could grow without bounds (RFC 9110, 15.5.16 and 12.5.3). Node decodes `chunked` alone.
  if (transfer !== undefined && !/^chunked$/i.test(transfer))
    return unsupported('Bodies with a Transfer-Encoding other than chunked are not read.')
  if (coding !== undefined && !/^identity$/i.test(coding))
    return unsupported('Bodies with a Content-Encoding are not read.', { 'accept-encoding': 'identity' })
  return isReadCharset(type) ? undefined : unsupported('Bodies are read in UTF-8 only.')
}

const tooSlow = () => new ProblemError('timeout', 'The request did not arrive in time.')

/** Refuses a body that can't be read, and answers a request whose body has not arrived by its deadline. */
const limitBodies = (app: FastifyInstance): void => {
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!hasBody(request)) return done(null, payload)
    const refused = unreadable(request)
    if (refused) return done(refused)
    const { 'content-type': type = '' } = request.headers
    // Files are read as they arrive, and have other limits.
    if (!/^multipart\//i.test(type) && !IMPORT_TYPE.test(type)) {
      const timer = setTimeout(() => reply.send(tooSlow()), request.deadline.getTime() - Date.now())
      const arrived = () => clearTimeout(timer)
      request.raw.once('end', arrived)
      reply.raw.once('close', arrived)
    }
    done(null, payload)
  })
}

/** Reading and checking 600 KB of JSON takes a processor 150 ms, in which no other request is served; 64 KiB take 15. */
const LARGE_BYTES = 64 * 1024
/** How long others are served between two large bodies. */
const REST_MS = 20
/** After so long without a large body the next one does not wait. */
const IDLE_MS = 500

/**
 * Parses large bodies one at a time, with a pause between: forty at once would hold up all other requests until the last of them is
 * checked (seen: 8 s). A body whose request has timed out meanwhile is not parsed.
 */
const createLargeBodyParser = ({ largeBodies }: Admission) => {
  let lastAt = Number.NEGATIVE_INFINITY
  return async ({ principal, deadline, socket }: FastifyRequest, read: () => Body): Promise<Body> => {
    const leave = await largeBodies(principal?.accountId ?? 0)
    try {
      if (performance.now() - lastAt < IDLE_MS) await pause(REST_MS)
      if (deadline.getTime() <= Date.now() || socket.destroyed) throw new TooBusy()
      return read()
    } finally {
      lastAt = performance.now()
      leave()
    }
  }
}

/** Reads JSON and forms alone. Fastify's JSON parser refuses keys such as __proto__; here no body is merged into an object. */
export const readBodies = (app: FastifyInstance, admission: Admission): void => {
  app.removeAllContentTypeParsers()
  const parseLarge = createLargeBodyParser(admission)
  limitBodies(app)
  const parserOf = (read: (bytes: Buffer) => Body) => async (request: FastifyRequest, bytes: Buffer) => {
    // The client was slow, not the services.
    if (request.deadline.getTime() <= Date.now()) throw tooSlow()
    if (bytes.length > LARGE_BYTES) return parseLarge(request, () => read(bytes))
    return bytes.length === 0 ? NO_BODY : read(bytes)
  }
  app.addContentTypeParser(JSON_TYPE, { parseAs: 'buffer' }, parserOf(jsonBody))
  app.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer' }, parserOf(formBody))
  refuseOtherTypes(app)
}

export const refuseOtherTypes = (app: FastifyInstance): void => {
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    if (hasBody(request)) throw unsupported('The Content-Type is not one this operation reads.')
  })
}

/** The JSON or form body of a request; `{}` without one. */
export const bodyOf = (request: FastifyRequest): Body => (request.body as Body | undefined) ?? NO_BODY
