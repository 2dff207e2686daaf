import { setMaxListeners } from 'node:events'
import type { Request } from 'autocannon'
import { Agent } from 'undici'
import { another } from './another'

/**
 * Loads a server until the signal, from connections with one request in flight each, whatever it answers. Resolves with how
 * many answers of which status there were; 0 stands for a request that failed.
 */
export const pound = async (options: {
  port: number
  connections: number
  /** Sent in turn. */
  requests: Request[]
  signal: AbortSignal
}): Promise<Map<number, number>> => {
  const { port, connections, requests, signal } = options
  // Each request in flight listens to it.
  setMaxListeners(0, signal)
  const agent = new Agent({ connections })
  const statuses = new Map<number, number>()
  let sent = 0
  const send = async ({ method, path, headers, body }: Request): Promise<number> => {
    const request = {
      origin: `http://127.0.0.1:${port}`,
      path: path!,
      headers: headers!,
      body: another(body) ?? null,
    }
    try {
      const answer = await agent.request({ ...request, method: method!, signal })
      await answer.body.dump()
      return answer.statusCode
    } catch {
      return 0
    }
  }
  const loop = async () => {
    while (!signal.aborted) {
      const status = await send(requests[sent++ % requests.length]!)
      if (!signal.aborted) statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: connections }, loop))
  await agent.close()
  return statuses
}
