import { setMaxListeners } from 'node:events'
import { Agent } from 'undici'
import type { HttpRequest } from './http-request'
import { insertNextPerson } from './insert-next-person'

/**
 * Sends requests to a server until `signal` aborts, and does not stop at error responses. Each connection has
 * one request in flight. Returns how many responses had each status. Status 0 counts the requests that
 * failed.
 */
export const pound = async (options: {
  port: number
  connections: number
  /** The requests, sent in turn. */
  requests: HttpRequest[]
  signal: AbortSignal
}): Promise<Map<number, number>> => {
  const { port, connections, requests, signal } = options
  // Removes the limit on listeners, because each request in flight adds one.
  setMaxListeners(0, signal)
  const origin = `http://127.0.0.1:${port}`
  const agent = new Agent({ connections })
  const statuses = new Map<number, number>()
  let sent = 0
  const send = async ({ method, path, headers, body = '' }: HttpRequest): Promise<number> => {
    try {
      const response = await agent.request({
        origin,
        method,
        path,
        headers,
        body: insertNextPerson(body),
        signal,
      })
      await response.body.dump()
      return response.statusCode
    } catch {
      return 0
    }
  }
  const sendUntilAborted = async () => {
    while (!signal.aborted) {
      const request = requests[sent % requests.length]!
      sent += 1
      const status = await send(request)
      if (!signal.aborted) statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: connections }, sendUntilAborted))
  await agent.close()
  return statuses
}
