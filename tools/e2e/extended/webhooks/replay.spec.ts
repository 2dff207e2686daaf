import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, type Receiver } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../../support/stage'

type Replay = { id: number; state: string; matched: number; enqueued: number; created_at: string }
type Logged = { sequence: number; type: string; created_at: string }

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage({ replicas: 2, env: { WEBHOOK_RETRY_SCHEDULE: '50ms', WEBHOOK_TIMEOUT: '5s' } })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const buildPath = (endpointId: number) => `/manage/webhook-endpoints/${endpointId}/replay`
const replay = (endpointId: number, json: object = {}) =>
  tenant.send<Replay>('POST', buildPath(endpointId), { json })
const count = async (endpointId: number, json: object = {}) => {
  const counted = await replay(endpointId, { ...json, dry_run: true })
  expect(counted).toMatchObject({ state: 'counted', enqueued: 0 })
  return counted.matched
}
const shown = (endpointId: number, { id }: Replay) =>
  tenant.send<Replay>('GET', `${buildPath(endpointId)}/${id}`)
const done = async (endpointId: number, asked: Replay) =>
  eventually(async () => {
    const found = await shown(endpointId, asked)
    expect(found.state).toBe('done')
    return found
  })
const sequencesAt = ({ requests }: Receiver) =>
  requests.map(({ headers }) => Number(headers['webhook-sequence']))
const inOrder = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, place) => from + place)
const readLog = async (size: number) =>
  eventually(async () => {
    const { json } = await tenant.client.request<{ data: Logged[] }>('GET', '/manage/events?limit=100')
    expect(json.data).toHaveLength(size)
    return json.data
  })
const refusal = async (endpointId: number, json: object) => {
  const { status, json: problem } = await tenant.client.request<{ detail: string; errors?: object }>(
    'POST',
    buildPath(endpointId),
    { json },
  )
  return { status, ...problem }
}
const unexplained = async () => {
  const findGrpc = (wanted: string) => stage.system.services.find(({ service }) => service === wanted)!.grpc!
  const env = {
    ...process.env,
    LEADS_SERVICE_URL: findGrpc('leads-service'),
    WEBHOOK_SERVICE_URL: findGrpc('webhook-service'),
    SERVICE_TOKEN: stage.system.serviceToken,
  }
  const main = resolve(__dirname, '../../../leadwire/dist/main.js')
  const args = [main, 'reconcile', '--full', '--account', String(tenant.account.id), '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  return JSON.parse(stdout).unexplained_count
}

test('erased events are not sent, and reconciliation finds nothing unexplained', async () => {
  const leads = [await tenant.createLead(), await tenant.createLead()]
  await readLog(2)
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

test('a second replay is refused while one runs; the first one can be cancelled, and new events are sent', async () => {
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
  const cancel = () => tenant.send<Replay>('DELETE', `${buildPath(id)}/${asked.id}`)
  const cancelled = await cancel()
  expect(cancelled).toMatchObject({ id: asked.id, state: 'cancelled', matched: LEADS })
  // The receiver hangs, so the replay has enqueued only the events that wait (at most 100) or are in flight.
  expect(cancelled.enqueued).toBeLessThan(LEADS)
  expect(await cancel()).toEqual(cancelled)

  receiver.clear()
  receiver.answerWith({ status: 200 })
  const { reference } = await tenant.createLead()
  await eventually(() => expect(receiver.requests.some(({ body }) => body.includes(reference))).toBe(true))
  const rest = await replay(id, { after_sequence: LEADS - 5 })
  expect(await done(id, rest)).toMatchObject({ matched: 5, enqueued: 5 })
})

test('an invalid replay is refused', async () => {
  const { id } = await tenant.listen({ enabled: false })
  expect(await refusal(id, {})).toMatchObject({ status: 409, detail: expect.stringContaining('disabled') })
  const bad = {
    after_sequence: -1,
    until_sequence: 0,
    from: 'yesterday',
    to: 5,
    types: ['lead.lost'],
    state: 'held',
    dry_run: 'maybe',
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
    expect((await tenant.client.request(method, `${buildPath(id)}/1000000`)).status).toBe(404)
})

test('a replay loses no event while copies are killed, and repeats only attempts in flight', async () => {
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
  // A kill repeats at most the attempts in flight: up to 16 for an endpoint.
  expect(receiver.requests.length).toBeLessThanOrEqual(200 + 16 * kills)
  const path = `/manage/deliveries?endpoint_id=${id}`
  const { json } = await tenant.client.request<{ total: number }>('GET', path)
  expect(json.total).toBe(200)
}, 120_000)
