import { setTimeout as wait } from 'node:timers/promises'
import type { Request } from 'autocannon'
import { Agent } from 'undici'
import { wallClock } from '../measure/statistics'
import { another } from './another'

export interface OpenLoop {
  port: number
  /** Creates, sent in turn. */
  requests: Request[]
  seconds: number
  perSecond: number
}

/** A created lead: which of the requests it was, when it was sent, and when its answer was there. */
export interface Created {
  request: number
  reference: string
  sentAt: number
  answeredAt: number
}

/** Creates leads at a fixed rate: each request is sent at its time, whether or not those before it were answered. */
export const openLoop = async ({ port, requests, seconds, perSecond }: OpenLoop): Promise<Created[]> => {
  const agent = new Agent({ connections: 64 })
  const send = async (index: number): Promise<Created> => {
    const request = index % requests.length
    const { path, headers, body } = requests[request]!
    const sentAt = wallClock()
    const answer = await agent.request({
      ...{
        origin: `http://127.0.0.1:${port}`,
        method: 'POST',
        path: path!,
        headers: headers!,
        body: another(body)!,
      },
    })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`a create was answered ${answer.statusCode} ${text}`)
    const answeredAt = wallClock()
    return { request, reference: JSON.parse(text).data.reference, sentAt, answeredAt }
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
