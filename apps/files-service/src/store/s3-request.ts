import { createReadStream } from 'node:fs'
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { storeAway } from './object-store'

// How long a store may be silent before it counts as unavailable: less than clients and proxies wait.
const SILENCE_LIMIT_MS = 8000

// Idle connections are closed before the store closes them: a request on a closing one would fail.
const AGENT_OPTIONS = { keepAlive: true, timeout: 5000 }
const HTTP_AGENT = new HttpAgent(AGENT_OPTIONS)
const HTTPS_AGENT = new HttpsAgent(AGENT_OPTIONS)

/** Uses no proxy of the environment, as Node's global agents do with NODE_USE_ENV_PROXY. */
export const agentOf = (protocol: string): HttpAgent => (protocol === 'https:' ? HTTPS_AGENT : HTTP_AGENT)

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** Presigned. */
  url: string
  headers?: Record<string, string | number>
  /** Checks the certificate of an https address. */
  ca?: string | undefined
  /** The file whose bytes are sent. */
  file?: string
  signal?: AbortSignal | undefined
}

/**
 * Sends one presigned request, and resolves with the response, its body unread. Throws `unavailable` when the store can't be
 * reached, is silent, or answers 5xx.
 */
export const sendS3 = async ({
  method,
  url,
  headers,
  ca,
  file,
  signal,
}: S3Request): Promise<IncomingMessage> => {
  const { protocol } = new URL(url)
  const request = (protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    method,
    agent: agentOf(protocol),
    timeout: SILENCE_LIMIT_MS,
    ...(headers && { headers }),
    ...(ca !== undefined && { ca }),
    ...(signal && { signal }),
  })
  request.once('timeout', () => request.destroy(new Error('the store fell silent')))
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })
  try {
    if (file === undefined) request.end()
    else {
      // The store may answer before it has read everything (403, 412, 503): the response counts, not the broken pipe.
      pipeline(createReadStream(file), request).catch(() => undefined)
    }
    const answer = await response
    // From here on a slow client may hold back the bytes.
    if (method === 'GET') request.setTimeout(0)
    if ((answer.statusCode ?? 500) < 500) return answer
    throw new Error(`the store answered ${answer.statusCode}: ${await bodyOf(answer)}`)
  } catch (error) {
    signal?.throwIfAborted()
    throw storeAway(error)
  }
}

/** The start of a response's body, for an error message; frees the connection. */
export const bodyOf = async (response: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of response) if (text.length < 2000) text += chunk
  return text.slice(0, 2000)
}
