import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, type Receiver } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../stage.fixture'

type Replay = { id: number; state: string; matched: number; enqueued: number; created_at: string }
type Logged = { sequence: number; type: string; created_at: string }

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage({ replicas: 2, env: { WEBHOOK_RETRY_SCHEDULE: '50ms', WEBHOOK_TIMEOUT: '1s' } })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const pathOf = (endpointId: number) => `/manage/webhook-endpoints/${endpointId}/replay`
const replay = (endpointId: number, json: object = {}) =>
  tenant.send<Replay>('POST', pathOf(endpointId), { json })
const count = async (endpointId: number, json: object = {}) => {
  const counted = await replay(endpointId, { ...json, dry_run: true })
  expect(counted).toMatchObject({ state: 'counted', enqueued: 0 })
  return counted.matched
}
const shown = (endpointId: number, { id }: Replay) =>
  tenant.send<Replay>('GET', `${pathOf(endpointId)}/${id}`)
const done = async (endpointId: number, asked: Replay) =>
  eventually(
    async () => {
      const found = await shown(endpointId, asked)
      expect(found.state).toBe('done')
      return found
    },
    { timeoutMs: 30_000 },
  )
const sequencesAt = ({ requests }: Receiver) =>
  requests.map(({ headers }) => Number(headers['webhook-sequence']))
const inOrder = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, place) => from + place)
const logOf = async (size: number) =>
  eventually(async () => {
    const { json } = await tenant.client.request<{ data: Logged[] }>('GET', '/manage/events?limit=100')
    expect(json.data).toHaveLength(size)
    return json.data
  })
const refusal = async (endpointId: number, json: object) => {
  const { status, json: problem } = await tenant.client.request<{ detail: string; errors?: object }>(
    'POST',
    pathOf(endpointId),
    { json },
  )
  return { status, ...problem }
}
const unexplained = async () => {
  const grpcOf = (wanted: string) => stage.system.services.find(({ service }) => service === wanted)!.grpc!
  const env = {
    ...process.env,
    LEADS_SERVICE_URL: grpcOf('leads-service'),
    WEBHOOK_SERVICE_URL: grpcOf('webhook-service'),
    SERVICE_TOKEN: stage.system.serviceToken,
  }
  const main = resolve(__dirname, '../../../leadwire/dist/main.js')
  const args = [main, 'reconcile', '--full', '--account', String(tenant.account.id), '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  return JSON.parse(stdout).unexplained_count
}

test('an endpoint that is made later gets what it never got, by sequence, by time and by type, in the order of the log', async () => {
  for (let count = 0; count < 6; count += 1) await tenant.createLead()
  const { reference } = await tenant.createLead()
  await tenant.send('PATCH', `/leads/${reference}`, { json: { status: 'sold' } })
  const log = await logOf(8)
  const { receiver, id } = await tenant.listen()
  expect(await count(id)).toBe(7)
  expect(await count(id, { state: 'exhausted' })).toBe(0)
  expect(await count(id, { types: ['lead.updated'] })).toBe(1)
  expect(await count(id, { after_sequence: 2, until_sequence: 5 })).toBe(3)
  // Events are stored in about the order of their times.
  const [from, to] = log
    .map(({ created_at }) => created_at)
    .toSorted()
    .filter((_, place) => place === 2 || place === 5)
  const between = log
    .filter(({ created_at }) => created_at >= from! && created_at < to!)
    .map(({ sequence }) => sequence)
  expect(await count(id, { from, to })).toBe(3)
  expect(await count(id, { from: '2099-01-01T00:00:00Z' })).toBe(0)
  expect(receiver.requests).toEqual([])

  const asked = await replay(id, { after_sequence: 2, until_sequence: 5 })
  expect(asked).toMatchObject({ matched: 3 })
  expect(await done(id, asked)).toEqual({ ...asked, state: 'done', enqueued: 3 })
  await eventually(() => expect(sequencesAt(receiver).toSorted()).toEqual([3, 4, 5]))
  // What was delivered is not replayed again, unless that is asked for.
  await eventually(async () => expect(await count(id)).toBe(4))
  expect(await count(id, { state: 'all' })).toBe(7)
  await done(id, await replay(id, { from, to, state: 'all' }))
  // Attempts 10 ms apart may overtake each other.
  await eventually(() => expect(sequencesAt(receiver).slice(3).toSorted()).toEqual(between.toSorted()))
  await done(id, await replay(id, { types: ['lead.updated'] }))
  await eventually(() => expect(sequencesAt(receiver).at(-1)).toBe(8))
})

test('an exhausted delivery gets one attempt, a missing one all of its schedule', async () => {
  const { receiver, id } = await tenant.listen()
  receiver.answerWith({ status: 500 })
  await tenant.createLead()
  await eventually(async () => expect(await count(id, { state: 'exhausted' })).toBe(1))
  expect(receiver.requests).toHaveLength(2)
  await done(id, await replay(id, { state: 'exhausted' }))
  expect(receiver.requests).toHaveLength(3)

  const later = await tenant.listen()
  later.receiver.answerWith({ status: 500 })
  await done(later.id, await replay(later.id))
  await eventually(async () => expect(await count(later.id, { state: 'exhausted' })).toBe(1))
  expect(later.receiver.requests).toHaveLength(2)
})

test('what is erased is not sent, and nothing is left for reconciliation to explain', async () => {
  const leads = [await tenant.createLead(), await tenant.createLead()]
  await logOf(2)
  await tenant.send('POST', `/manage/leads/${leads[0]!.reference}/erase`)
  await eventually(async () => {
    const path = `/manage/leads/${leads[0]!.reference}/erasure`
    expect((await tenant.send<{ finished_at: string | null }>('GET', path)).finished_at).not.toBeNull()
  })
  const { receiver, id } = await tenant.listen()
  await done(id, await replay(id))
  await eventually(() => expect(sequencesAt(receiver)).toEqual([2]))
  await eventually(async () => expect(await count(id)).toBe(0))
  expect(await unexplained()).toBe(0)
})

const LEADS = 180

test('a second one is refused while one runs, which a cancellation ends; new events go on meanwhile', async () => {
  const writer = await tenant.listen()
  for (let count = 0; count < LEADS; count += 1) await tenant.createLead()
  await eventually(() => expect(new Set(sequencesAt(writer.receiver)).size).toBe(LEADS), {
    timeoutMs: 60_000,
  })
  const { receiver, id } = await tenant.listen()
  receiver.answerWith('hang')
  const asked = await replay(id)
  expect(asked).toMatchObject({ matched: LEADS })
  const { status, detail } = await refusal(id, {})
  expect([status, detail]).toEqual([409, expect.stringContaining(`Replay ${asked.id} `)])
  await eventually(async () => expect((await shown(id, asked)).enqueued).toBeGreaterThanOrEqual(100))
  const cancel = () => tenant.send<Replay>('DELETE', `${pathOf(id)}/${asked.id}`)
  const cancelled = await cancel()
  expect(cancelled).toMatchObject({ id: asked.id, state: 'cancelled', matched: LEADS })
  // Those that wait, and those that are in flight.
  expect(cancelled.enqueued).toBeLessThan(LEADS)
  expect(await cancel()).toEqual(cancelled)

  receiver.clear()
  receiver.answerWith({ status: 200 })
  const { reference } = await tenant.createLead()
  await eventually(() => expect(receiver.requests.some(({ body }) => body.includes(reference))).toBe(true))
  const rest = await replay(id, { after_sequence: LEADS - 5 })
  expect(await done(id, rest)).toMatchObject({ matched: 5, enqueued: 5 })
})

test('what can not be is refused', async () => {
  const { id } = await tenant.listen({ enabled: false })
  expect(await refusal(id, {})).toMatchObject({ status: 409, detail: expect.stringContaining('disabled') })
  const bad = {
    ...{ after_sequence: -1, until_sequence: 0, from: 'yesterday', to: 5, types: ['lead.lost'] },
    ...{ state: 'held', dry_run: 'maybe' },
  }
  const { status, errors } = await refusal(id, bad)
  expect(status).toBe(422)
  expect(Object.keys(errors!).map((field) => field.split('.')[0])).toEqual(Object.keys(bad))
  expect(await refusal(id, { after_sequence: 3, until_sequence: 3 })).toMatchObject({
    status: 422,
    errors: { until_sequence: [expect.any(String)] },
  })
  const day = '2026-01-01T00:00:00Z'
  expect(await refusal(id, { from: day, to: day })).toMatchObject({ errors: { to: [expect.any(String)] } })
  expect((await refusal(id + 1_000_000, bad)).status).toBe(404)
  for (const method of ['GET', 'DELETE'])
    expect((await tenant.client.request(method, `${pathOf(id)}/1000000`)).status).toBe(404)
})

test('copies that are killed meanwhile lose no event and send none without need', async () => {
  for (let count = 0; count < 200; count += 1) await tenant.createLead()
  await eventually(async () => {
    const { json } = await tenant.client.request<{ data: Logged[] }>('GET', '/manage/events?limit=100')
    expect(json.data).toHaveLength(100)
  })
  const { receiver, id } = await tenant.listen()
  expect(
    await eventually(async () => {
      const matched = await count(id)
      expect(matched).toBe(200)
      return matched
    }),
  ).toBe(200)
  const asked = await replay(id)
  let killing = true
  let kills = 0
  const killer = (async () => {
    while (killing)
      for (const copy of ['webhook-service', 'webhook-service-2']) {
        await stage.system.kill(copy)
        await stage.system.restart(copy)
        kills += 1
      }
  })()
  await eventually(() => expect(new Set(sequencesAt(receiver)).size).toBe(200), { timeoutMs: 60_000 })
  killing = false
  await killer
  expect(await done(id, asked)).toMatchObject({ matched: 200, enqueued: 200 })
  expect([...new Set(sequencesAt(receiver))].toSorted((a, b) => a - b)).toEqual(inOrder(1, 200))
  // A kill repeats at most the attempts that were in flight.
  expect(receiver.requests.length).toBeLessThanOrEqual(200 + 16 * kills)
  const path = `/manage/deliveries?endpoint_id=${id}`
  const { json } = await tenant.client.request<{ total: number }>('GET', path)
  expect(json.total).toBe(200)
}, 120_000)
