import { isUtf8 } from 'node:buffer'
import { type Faults, ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parse as parseForm } from 'qs'
import { textFaults } from '../validation/text-faults'
import { ProblemError } from './problem'

/** A request body that could be read: an object, whatever its fields are. */
export interface Body {
  fields: Record<string, unknown>
  /** The text of a JSON body; undefined for a form. */
  json?: string
  /** Strings and keys that no field may hold. */
  faults: Faults
}

const NO_BODY: Body = { fields: {}, faults: {} }

export const JSON_TYPE = /^application\/(?:[\w.!#$&^+-]+\+)?json(?:\s*;|$)/i
export const FORM_TYPE = 'application/x-www-form-urlencoded'

const decodeUtf8 = (bytes: Buffer): string => {
  if (!isUtf8(bytes)) throw new ServiceError('bad_request', 'The body is not well-formed UTF-8.')
  const text = bytes.toString()
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ServiceError('bad_request', 'The body is not well-formed JSON.', { cause })
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const jsonBody = (bytes: Buffer): Body => {
  const json = decodeUtf8(bytes)
  const fields = parseJson(json)
  if (!isObject(fields)) throw new ServiceError('invalid', 'The body must be a JSON object.')
  return { fields, json, faults: textFaults(fields) }
}

const formBody = (bytes: Buffer): Body => {
  const text = decodeUtf8(bytes)
  try {
    const fields = parseForm(text, {
      plainObjects: true,
      depth: 10,
      arrayLimit: 1000,
      parameterLimit: 20_000,
      throwOnLimitExceeded: true,
      duplicates: 'last',
    })
    return { fields, faults: textFaults(fields) }
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new ServiceError('too_large', 'The form has too many fields.', { cause })
    throw cause
  }
}

const hasNoBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0

// Nothing here unpacks: a small body could become one without bounds (RFC 9110, 15.5.16 and 12.5.3).
const refusePackedBodies = (app: FastifyInstance): void => {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const coding = request.headers['content-encoding']
    if (coding === undefined || /^identity$/i.test(coding) || hasNoBody(request)) return done(null, payload)
    const problem = new ProblemError(
      'unsupported-media-type',
      'Bodies with a Content-Encoding are not read.',
      {
        'accept-encoding': 'identity',
      },
    )
    done(problem, payload)
  })
}

/**
 * Reads JSON and form bodies, and nothing else. Fastify's own JSON parser refuses keys such as __proto__; here they
 * are unknown fields like any other, because nothing is ever merged from a body.
 */
export const readBodies = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  refusePackedBodies(app)
  app.addContentTypeParser(
    JSON_TYPE,
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, bytes: Buffer) => (bytes.length === 0 ? NO_BODY : jsonBody(bytes)),
  )
  app.addContentTypeParser(
    FORM_TYPE,
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, bytes: Buffer) => (bytes.length === 0 ? NO_BODY : formBody(bytes)),
  )
  refuseOtherTypes(app)
}

/** Answers 415 to a body of a type that the routes of `app` have no parser for. */
export const refuseOtherTypes = (app: FastifyInstance): void => {
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    if (hasNoBody(request)) return undefined
    throw new ProblemError('unsupported-media-type', 'The Content-Type is not one this operation reads.')
  })
}

/** The body of a request whose route reads JSON and forms; a request without one counts as `{}`. */
export const bodyOf = (request: FastifyRequest): Body => (request.body as Body | undefined) ?? NO_BODY
