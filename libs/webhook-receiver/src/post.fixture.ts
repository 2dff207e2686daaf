import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

const MAX_BYTES = 8 * 1024 * 1024

export interface Answer {
  status: number
  text: string
}

/** A POST on a connection of its own, to be sent piece by piece. */
export const openPost = (url: string, headers: Record<string, string>, size: number) => {
  const sending = request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': size, ...headers },
    agent: false,
  })
  // A connection that is closed early may also fail after its response.
  sending.on('error', () => undefined)
  const answer = once(sending, 'response').then(
    async ([response]: IncomingMessage[]): Promise<Answer> => ({
      status: response!.statusCode!,
      text: await text(response!),
    }),
  )
  return { sending, answer }
}

export const post = (url: string, headers: Record<string, string>, body: Buffer): Promise<Answer> => {
  const { sending, answer } = openPost(url, headers, body.length)
  sending.end(body)
  return answer
}

/** A receiver may close the connection before it has read all of the body. */
export const expectTooLarge = async (url: string, headersOf: (body: Buffer) => Record<string, string>) => {
  const body = Buffer.alloc(MAX_BYTES + 1)
  const refusal = post(url, headersOf(body), body).then(
    ({ status }) => status,
    ({ code }) => code,
  )
  expect([413, 'EPIPE', 'ECONNRESET']).toContain(await refusal)
}

/** A sender that disconnects in the middle of its request. */
export const abortPost = async (url: string, headers: Record<string, string>): Promise<void> => {
  const { sending, answer } = openPost(url, headers, 1000)
  await new Promise((resolve) => sending.write('{', resolve))
  sending.destroy()
  await expect(answer).rejects.toThrow('socket hang up')
}

/** Sends a body in two pieces, and in between does something else. */
export const postSlowly = async (
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  meanwhile: () => Promise<unknown>,
): Promise<Answer> => {
  const { sending, answer } = openPost(url, headers, body.length)
  await new Promise((resolve) => sending.write(body.subarray(0, 10), resolve))
  await meanwhile()
  sending.end(body.subarray(10))
  return answer
}
