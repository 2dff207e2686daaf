import { setTimeout as pause } from 'node:timers/promises'
import { type Body, listTextErrors } from '@leadwire/requests'
import { ServiceError, TooBusy } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parse } from 'qs'
import type { Admission } from '../admission/admission'
import type { ProblemError } from '../http/problem'
import { refuseMediaType, unsupported } from '../http/refuse-media-type'
import { decodePercent, decodeUtf8, findEncoding, notUtf8 } from '../http/utf8'
import { collectBody } from './collect-body'
import { findFormat } from './import-types'
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

/**
 * Parses a JSON body. Throws `bad_request` for malformed JSON, and `invalid` for JSON that is not an object.
 */
export const parseJsonBody = (bytes: Buffer): Body => {
  const json = decodeUtf8(bytes)
  const fields = parseJson(json)
  if (!isObject(fields)) throw new ServiceError('invalid', 'The body must be a JSON object.')
  return { fields, json, errors: listTextErrors(fields) }
}

const MAX_FIELDS = 20_000
const MAX_ENTRIES = 1000

const decodeFormText = (text: string): string => {
  const decoded = decodePercent(text.replaceAll('+', ' '))
  if (decoded === undefined) throw notUtf8()
  return decoded
}

/**
 * Parses a form. A repeated field becomes an array, and brackets make arrays and objects:
 * `scopes=a&scopes=b`, `scopes[]=a`, `options[width]=5`.
 */
const parseForm = (text: string): Record<string, unknown> => {
  try {
    return parse(text, {
      plainObjects: true,
      depth: 10,
      arrayLimit: MAX_ENTRIES,
      parameterLimit: MAX_FIELDS,
      throwOnLimitExceeded: true,
      duplicates: 'combine',
      decoder: decodeFormText,
    })
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new ServiceError(
      'too_large',
      `The form may have at most ${MAX_FIELDS} fields, and each list in the form at most ${MAX_ENTRIES} entries.`,
      { cause },
    )
  }
}

const parseFormBody = (bytes: Buffer): Body => {
  const text = decodeUtf8(bytes)
  // Refuses JSON, which `curl -d` sends with this type by default. Parsed as a form, the JSON would have no
  // known field.
  if (/^\s*(\{.*\}|\[.*\])\s*$/s.test(text)) {
    const detail = `The body looks like JSON, but its Content-Type is ${FORM_TYPE}. Send Content-Type: application/json.`
    throw unsupported(detail)
  }
  const fields = parseForm(text)
  return { fields, form: true, urlEncoded: true, errors: listTextErrors(fields) }
}

/** Returns the charset that a Content-Type names, in lower case. */
export const findCharset = (type: string): string | undefined =>
  /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1]?.toLowerCase()

/** Returns whether the gateway can read a body with the charset of this Content-Type. */
const isReadCharset = (type: string) => {
  const charset = findCharset(type)
  if (charset === undefined) return true
  const encoding = findEncoding(charset)
  // Imports may use other charsets, because spreadsheets on Windows write Windows-1252.
  return encoding === 'utf-8' || (encoding !== undefined && findFormat(type) !== undefined)
}

/** Returns an error if the headers of a request show that the gateway cannot read the body. */
const refuseBody = ({ headers }: FastifyRequest): ProblemError | undefined => {
  const { 'content-encoding': coding, 'transfer-encoding': transfer, 'content-type': type = '' } = headers
  // Refuses compressed bodies, because a small compressed body could become arbitrarily large. The response
  // follows RFC 9110, 15.5.16 and 12.5.3. The only transfer coding that Node decodes is `chunked`.
  if (transfer !== undefined && !/^chunked$/i.test(transfer))
    return unsupported(`The Transfer-Encoding ${transfer} is not supported. Use chunked, or omit the header.`)
  if (coding !== undefined && !/^identity$/i.test(coding))
    return unsupported(`The Content-Encoding ${coding} is not supported. Send the body uncompressed.`, {
      'accept-encoding': 'identity',
    })
  if (isReadCharset(type)) return undefined
  const charset = findCharset(type)
  return unsupported(
    findFormat(type)
      ? `The charset ${charset} is not supported. Use a charset of the WHATWG Encoding Standard, such as utf-8 or windows-1252.`
      : `The charset ${charset} is not supported. Send the body in UTF-8.`,
  )
}

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Parses the collected body according to the request's Content-Type. Undefined for a body that is not
     * collected, such as a file.
     */
    parseBody: ((bytes: Buffer) => Body) | undefined
  }
}

/**
 * The parser pauses between bodies larger than this size, because the gateway serves no other request while
 * it parses and checks a body. Parsing and checking takes 15 ms for 64 KiB of JSON, and 150 ms for 600 KB.
 */
const LARGE_BYTES = 64 * 1024
/** The pause between two large bodies. The gateway serves other requests during the pause. */
const REST_MS = 20

/**
 * Makes the function that parses large bodies with a pause between them. Without the pause, forty large
 * bodies blocked all other requests for 8 s. The bodies need no queue, because admission limits how many are
 * in flight: at most four of the largest size, and at most two from one account. The function throws TooBusy
 * if the request times out, or its client disconnects, before the body is parsed.
 */
const createLargeBodyParser = () => {
  /** When the next large body may be parsed, in milliseconds of the monotonic clock. */
  let nextAt = Number.NEGATIVE_INFINITY
  return async ({ deadline, socket }: FastifyRequest, parse: () => Body): Promise<Body> => {
    while (performance.now() < nextAt) await pause(REST_MS)
    if (deadline.getTime() <= Date.now() || socket.destroyed) throw new TooBusy()
    nextAt = Number.POSITIVE_INFINITY
    // The pause begins at the end of this turn of the event loop, because the fields are also checked in
    // this turn.
    setImmediate(() => {
      nextAt = performance.now() + REST_MS
    })
    return parse()
  }
}

/**
 * Reads bodies of JSON and forms in three steps: collects the body, waits until the `preValidation` hook of
 * the route admits the request, and parses the body. A request delays no other request while its body is
 * arriving.
 *
 * Replaces Fastify's JSON parser, which refuses keys such as __proto__. Such keys are harmless here, because
 * the gateway merges no body into another object.
 */
export const readBodies = (app: FastifyInstance, admission: Admission, graceMs: number): void => {
  app.removeAllContentTypeParsers()
  app.decorateRequest('parseBody', undefined)
  const addParser = (type: RegExp | string, parse: (bytes: Buffer) => Body) =>
    app.addContentTypeParser(type, (request, _payload, done) => {
      request.parseBody = parse
      done(null)
    })
  addParser(JSON_TYPE, parseJsonBody)
  addParser(FORM_TYPE, parseFormBody)
  refuseOtherTypes(app)
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const refused = hasBody(request) ? refuseBody(request) : undefined
    if (refused) done(refused)
    else done(null, payload)
  })

  app.addHook('preValidation', (request, reply, done) => {
    if (!request.parseBody || !hasBody(request)) return done()
    collectBody(reply, { admission, graceMs }).then((bytes) => {
      request.body = bytes
      done()
    }, done)
  })

  const parseLarge = createLargeBodyParser()
  const parse = (request: FastifyRequest, bytes: Buffer, parseBody: (bytes: Buffer) => Body) => {
    if (bytes.length > LARGE_BYTES) return parseLarge(request, () => parseBody(bytes))
    return bytes.length === 0 ? NO_BODY : parseBody(bytes)
  }
  app.addHook('preHandler', async (request) => {
    const { body, parseBody } = request
    if (parseBody && Buffer.isBuffer(body)) request.body = await parse(request, body, parseBody)
  })
}

/** Returns the size of a body that is collected and not yet parsed. */
export const countBodyBytes = ({ body }: FastifyRequest): number => (Buffer.isBuffer(body) ? body.length : 0)

/** Refuses a body with 415 if no parser of `app` accepts its type. */
export const refuseOtherTypes = (app: FastifyInstance): void => {
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    if (hasBody(request)) throw refuseMediaType(request)
  })
}

/** Returns the parsed JSON or form of a request. A request without a body has no fields. */
export const readBody = (request: FastifyRequest): Body => (request.body as Body | undefined) ?? NO_BODY
