import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const SANE = /^[A-Za-z0-9_-]{1,128}$/

/** The X-Request-Id of a request if it is well-formed, else a new one. */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID()
}
