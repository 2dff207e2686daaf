import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Arrival } from './arrival'

/** Longer than the timeout of a delivery, because the program may be stopped at a breakpoint. */
const TIMEOUT_MS = 30_000

/**
 * Posts a webhook to `url` with its exact bytes and its headers in their order and case. Does not follow
 * redirects. Resolves to the status. Rejects with an error of the network, or after 30 seconds.
 */
export const forward = async ({ rawHeaders, body }: Arrival, url: URL): Promise<number> => {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  const headers = ['Host', url.host, ...rawHeaders, 'Content-Length', String(body.length)]
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    send(url, { method: 'POST', headers, signal, agent: false }, resolve).once('error', reject).end(body)
  })
  for await (const _ of response);
  return response.statusCode!
}
