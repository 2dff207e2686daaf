import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { type Arrival, endToEnd } from './arrival'

export interface Forwarded {
  status: number
  contentType: string | undefined
  body: Buffer
}

/**
 * Posts what arrived to `url`: the same bytes, the same headers in the same order and case. Redirects are answers.
 * Rejects with what the network threw, or when `signal` says that nobody waits any more.
 */
export const forward = async (
  { rawHeaders, body }: Arrival,
  url: URL,
  signal: AbortSignal,
): Promise<Forwarded> => {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  const headers = ['Host', url.host, ...endToEnd(rawHeaders), 'Content-Length', String(body.length)]
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    send(url, { method: 'POST', headers, signal, agent: false }, resolve).once('error', reject).end(body)
  })
  return {
    status: response.statusCode!,
    contentType: response.headers['content-type'],
    body: await buffer(response),
  }
}
