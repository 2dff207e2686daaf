import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

const MAX_BYTES = 8 * 1024 * 1024

export interface Reply {
  status: number
  text: string
}

/** Opens a POST on a new connection. The caller sends the body piece by piece. */
export const openPost = (url: string, headers: Record<string, string>, size: number) => {
  const sending = request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': size, ...headers },
    agent: false,
  })
  // Ignores errors after the response, which happen if the receiver closes the connection early.
  sending.on('error', () => undefined)
  const reply = once(sending, 'response').then(
    async ([response]: IncomingMessage[]): Promise<Reply> => ({
      status: response!.statusCode!,
      text: await text(response!),
    }),
  )
  return { sending, reply }
}

export const post = (url: string, headers: Record<string, string>, body: Buffer): Promise<Reply> => {
  const { sending, reply } = openPost(url, headers, body.length)
  sending.end(body)
  return reply
}

/**
 * Expects that an oversized body is refused, with a 413 or with a closed connection: the receiver may close
 * the connection before it has read the body.
 */
export const expectTooLarge = async (url: string, makeHeaders: (body: Buffer) => Record<string, string>) => {
  const body = Buffer.alloc(MAX_BYTES + 1)
  const refusal = post(url, makeHeaders(body), body).then(
    ({ status }) => status,
    ({ code }) => code,
  )
  expect([413, 'EPIPE', 'ECONNRESET']).toContain(await refusal)
}

/** Disconnects in the middle of a request. */
export const abortPost = async (url: string, headers: Record<string, string>): Promise<void> => {
  const { sending, reply } = openPost(url, headers, 1000)
  await new Promise((resolve) => sending.write('{', resolve))
  sending.destroy()
  await expect(reply).rejects.toThrow('socket hang up')
}

/** Sends a body in two pieces, and runs `meanwhile` between them. */
export const postSlowly = async (
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  meanwhile: () => Promise<unknown>,
): Promise<Reply> => {
  const { sending, reply } = openPost(url, headers, body.length)
  await new Promise((resolve) => sending.write(body.subarray(0, 10), resolve))
  await meanwhile()
  sending.end(body.subarray(10))
  return reply
}
