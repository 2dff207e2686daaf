import { randomUUID } from 'node:crypto'
import { eventually, type Receiver } from '@leadwire/test-kit'
import { LEAD, type Stage, startStage } from '../../support/stage'

let stage: Stage
beforeAll(async () => {
  stage = await startStage({ replicas: 2, env: { WEBHOOK_RETRY_SCHEDULE: '100ms,100ms,100ms,100ms,100ms' } })
})
afterAll(() => stage.stop())

const LEADS = 64
const COPIES = ['webhook-service', 'webhook-service-2']

const readHeader = ({ headers }: Receiver['requests'][number], name: string) => Number(headers[name])

test('concurrent events get numbers without gaps while copies are killed, and no event gets two numbers', async () => {
  const [us, others] = [await stage.newTenant(), await stage.newTenant()]
  const events = ['lead.created', 'lead.updated']
  const { receiver } = await us.listen({ events })
  const theirs = await others.listen({ events })
  let killing = true
  const kills = (async () => {
    while (killing)
      for (const copy of COPIES) {
        await stage.system.kill(copy)
        await stage.system.restart(copy)
      }
  })()
  // Retries, because a busy service may respond with 503. Because of its key, a repeated create makes no
  // second lead.
  const lives = (tenant: typeof us) =>
    Array.from({ length: LEADS }, async () => {
      const headers = { 'idempotency-key': randomUUID() }
      const { reference } = await eventually(() => tenant.send('POST', '/leads', { json: LEAD, headers }))
      for (const status of ['sold', 'lost'])
        await eventually(() => tenant.send('PATCH', `/leads/${reference}`, { json: { status } }))
    })
  await Promise.all([us, others].flatMap(lives))
  killing = false
  await kills
  for (const { requests } of [receiver, theirs.receiver]) {
    const byId = () => new Map(requests.map((each) => [String(each.headers['webhook-id']), each]))
    await eventually(() => expect(byId().size).toBe(3 * LEADS), { timeoutMs: 60_000 })
    const numbers = [...byId().values()].map((each) => readHeader(each, 'webhook-sequence'))
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 3 * LEADS }, (_, at) => at + 1))
    // A repeated delivery carries the same number.
    for (const each of requests)
      expect(readHeader(each, 'webhook-sequence')).toBe(
        readHeader(byId().get(String(each.headers['webhook-id']))!, 'webhook-sequence'),
      )
    const versions = new Map<string, number[]>()
    for (const each of byId().values()) {
      const { reference } = JSON.parse(each.body.toString()).data
      versions.set(reference, [...(versions.get(reference) ?? []), readHeader(each, 'webhook-lead-version')])
    }
    expect([...versions.values()].map((each) => each.toSorted())).toEqual(Array(LEADS).fill([1, 2, 3]))
  }
})
