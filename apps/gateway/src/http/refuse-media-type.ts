import type { FastifyRequest } from 'fastify'
import { ProblemError } from './problem'

const MAX_SHOWN = 100

export const unsupported = (detail: string, headers?: Record<string, string>): ProblemError =>
  new ProblemError('unsupported-media-type', detail, headers)

/** Returns a 415 that names the request's media type and the types that the operation reads. */
export const refuseMediaType = ({ headers, routeOptions }: FastifyRequest): ProblemError => {
  const { content = {} } = (routeOptions.schema?.body ?? {}) as { content?: object }
  const given = headers['content-type']?.slice(0, MAX_SHOWN)
  const found = given === undefined ? 'The body has no Content-Type.' : `The Content-Type is ${given}.`
  const accepted = Object.keys(content)
  if (accepted.length === 0) return unsupported(`${found} This operation accepts no body.`)
  return unsupported(`${found} This operation accepts ${accepted.join(', ')}.`)
}
