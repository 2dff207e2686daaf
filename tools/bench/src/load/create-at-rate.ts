import { setTimeout as wait } from 'node:timers/promises'
import { Agent } from 'undici'
import { readWallClock } from '../measure/statistics'
import type { HttpRequest } from './http-request'
import { insertNextPerson } from './insert-next-person'

export interface CreateLoad {
  port: number
  /** The create requests, sent in turn. */
  requests: HttpRequest[]
  seconds: number
  perSecond: number
}

export interface Created {
  /** Index of the request that created the lead. */
  request: number
  reference: string
  /** Milliseconds since 1970. */
  sentAt: number
  respondedAt: number
}

/**
 * Creates leads at a fixed rate (an open loop): sends each request at its time, whether or not earlier ones
 * have a response.
 */
export const createAtRate = async ({
  port,
  requests,
  seconds,
  perSecond,
}: CreateLoad): Promise<Created[]> => {
  const origin = `http://127.0.0.1:${port}`
  const agent = new Agent({ connections: 64 })
  const send = async (index: number): Promise<Created> => {
    const request = index % requests.length
    const { method, path, headers, body = '' } = requests[request]!
    const sentAt = readWallClock()
    const response = await agent.request({ origin, method, path, headers, body: insertNextPerson(body) })
    const text = await response.body.text()
    if (response.statusCode !== 200)
      throw new Error(`the response to a create was ${response.statusCode} ${text}`)
    const respondedAt = readWallClock()
    return { request, reference: JSON.parse(text).data.reference, sentAt, respondedAt }
  }
  const total = Math.round(seconds * perSecond)
  const startedAt = performance.now()
  const sent: Promise<Created>[] = []
  const dueAt = (index: number) => startedAt + (index / perSecond) * 1000
  while (sent.length < total) {
    while (sent.length < total && performance.now() >= dueAt(sent.length)) sent.push(send(sent.length))
    await wait(Math.max(0, Math.min(dueAt(sent.length) - performance.now(), 5)))
  }
  const created = await Promise.all(sent)
  await agent.close()
  return created
}
