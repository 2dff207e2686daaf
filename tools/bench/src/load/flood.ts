import type { Request } from 'autocannon'
import { Agent } from 'undici'

export interface FloodResult {
  /** How many were answered 2xx. */
  requests: number
  refused: number
  /** Of those that were answered 2xx. */
  perSecond: number
  /** Milliseconds of the slowest answer. */
  slowest: number
}

/**
 * Loads a server from connections that send again as soon as they are answered, and waits for the last answers: what was under
 * way at the end is work that counts, unlike autocannon's. Rejects when an answer is neither a success nor a 503.
 */
export const flood = async (options: {
  port: number
  connections: number
  request: Request
  seconds: number
}): Promise<FloodResult> => {
  const { port, connections, request, seconds } = options
  const { method, path, headers, body } = request
  const sent = { origin: `http://127.0.0.1:${port}`, path: path!, headers: headers!, body: body ?? null }
  const agent = new Agent({ connections })
  const startedAt = performance.now()
  const result = { requests: 0, refused: 0, perSecond: 0, slowest: 0 }
  const send = async () => {
    const sentAt = performance.now()
    const answer = await agent.request({ ...sent, method: method! })
    const text = await answer.body.text()
    const now = performance.now()
    result.slowest = Math.max(result.slowest, now - sentAt)
    if (answer.statusCode === 503) result.refused += 1
    else if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode} ${text}`)
    else result.perSecond = (++result.requests / (now - startedAt)) * 1000
  }
  const loop = async () => {
    while (performance.now() - startedAt < seconds * 1000) await send()
  }
  try {
    await Promise.all(Array.from({ length: connections }, loop))
  } finally {
    await agent.destroy()
  }
  return result
}
