import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Arrival, describe, type Verification, verifyArrival } from './arrival'
import { forward } from './forward'

export interface ListenerOptions {
  secret: string
  /** A free one when 0. */
  port: number
  forwardTo: URL | undefined
  print(text: string): void
}

/** What receivers are advised to take. */
const MAX_BYTES = 8 * 1024 * 1024

/** A body; undefined when it is too large. */
const bodyOf = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size <= MAX_BYTES) chunks.push(chunk)
  }
  return size <= MAX_BYTES ? Buffer.concat(chunks) : undefined
}

interface Reply {
  status: number
  contentType?: string | undefined
  body?: Buffer | string
  outcome: string
}

/**
 * A receiver on 127.0.0.1 that verifies and prints each POST. With `forwardTo` it passes everything on and answers as
 * that did (502 when it did not); otherwise 200 for what verifies, 401 for what does not.
 */
export const startListener = async ({ secret, port, forwardTo, print }: ListenerOptions) => {
  const seen = new Set<string>()
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const at = new Date()
    const { headers, rawHeaders } = request
    if (request.method !== 'POST') return void response.writeHead(405, { Allow: 'POST' }).end()
    const body = await bodyOf(request)
    if (!body) return void response.writeHead(413).end()
    const arrival: Arrival = { at, headers, rawHeaders, body }
    const verification = verifyArrival(arrival, { secret, seen })
    const reply = forwardTo ? await passOn(arrival, forwardTo, response) : ownReply(verification)
    print(`\n${describe(arrival, verification, reply.outcome)}`)
    const { status, contentType = 'text/plain' } = reply
    response.writeHead(status, { 'Content-Type': contentType }).end(reply.body)
  }
  const server = createServer((request, response) => {
    // A sender that disconnected in the middle of its request has sent nothing that counts.
    handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () => {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

const ownReply = ({ verified, errors }: Verification): Reply =>
  verified
    ? { status: 200, outcome: 'answered 200' }
    : { status: 401, body: errors.join('\n'), outcome: 'answered 401' }

const passOn = async (arrival: Arrival, url: URL, response: ServerResponse): Promise<Reply> => {
  const gone = new AbortController()
  response.once('close', () => gone.abort(new Error('the sender waited no longer')))
  const started = performance.now()
  try {
    const reply = await forward(arrival, url, gone.signal)
    const ms = Math.round(performance.now() - started)
    return { ...reply, outcome: `forwarded to ${url.href}, answered ${reply.status} in ${ms} ms` }
  } catch (error) {
    const reason = gone.signal.aborted ? gone.signal.reason : error
    const why =
      reason instanceof Error ? reason.message || String((reason as NodeJS.ErrnoException).code) : reason
    return {
      status: 502,
      body: `${why}`,
      outcome: `could not be forwarded to ${url.href}: ${why}; answered 502`,
    }
  }
}
