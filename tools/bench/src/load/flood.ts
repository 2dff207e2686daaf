import { Agent } from 'undici'
import type { HttpRequest } from './http-request'
import { insertNextPerson } from './insert-next-person'

export interface FloodResult {
  /** The number of successes. */
  requests: number
  /** The number of responses with 503. */
  refused: number
  /** Successes a second. */
  perSecond: number
  /** The duration of the slowest request, in milliseconds. */
  slowest: number
}

/**
 * Loads a server from connections that send the next request as soon as they get a response. Also counts the
 * responses that arrive after `seconds`, because the server has done the work for them. Rejects when the
 * status of a response is neither 200 nor 503.
 */
export const flood = async (options: {
  port: number
  connections: number
  request: HttpRequest
  seconds: number
}): Promise<FloodResult> => {
  const { port, connections, request, seconds } = options
  const { method, path, headers, body = '' } = request
  const origin = `http://127.0.0.1:${port}`
  const agent = new Agent({ connections })
  const startedAt = performance.now()
  const result = { requests: 0, refused: 0, perSecond: 0, slowest: 0 }
  const send = async () => {
    const sentAt = performance.now()
    const response = await agent.request({ origin, method, path, headers, body: insertNextPerson(body) })
    const text = await response.body.text()
    const now = performance.now()
    result.slowest = Math.max(result.slowest, now - sentAt)
    if (response.statusCode === 503) {
      result.refused += 1
      return
    }
    if (response.statusCode !== 200)
      throw new Error(`the response to ${path} was ${response.statusCode} ${text}`)
    result.requests += 1
    result.perSecond = (result.requests / (now - startedAt)) * 1000
  }
  const sendUntilOver = async () => {
    while (performance.now() - startedAt < seconds * 1000) await send()
  }
  try {
    await Promise.all(Array.from({ length: connections }, sendUntilOver))
  } finally {
    await agent.destroy()
  }
  return result
}
