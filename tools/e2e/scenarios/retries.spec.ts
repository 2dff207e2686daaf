import { eventually, gate, startReceiver } from '@leadwire/test-kit'
import { IMPATIENT } from '../support/console'
import { joinStage, type Lead, type SharedStage, type Tenant } from '../support/stage'

type Attempt = {
  number: number
  started_at: string
  duration_ms: number
  status: number | null
  error: string | null
  response: string | null
}
type Delivery = {
  id: number
  status: string
  attempt_count: number
  event_id: string
  next_attempt_at: string | null
  attempts: Attempt[]
}

const STEP_MS = 300
/** More than may be in flight at one endpoint at once (WEBHOOK_ENDPOINT_CONCURRENCY). */
const MORE_THAN_AT_ONCE = 20
const ENDPOINTS = '/manage/webhook-endpoints'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage({ env: IMPATIENT })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const listDeliveries = async (query: string) =>
  (await tenant.client.request<{ data: { id: number }[] }>('GET', `/manage/deliveries?${query}`)).json.data

/** Waits until the delivery of a lead to an endpoint has the given status. */
const awaitDelivery = (lead: Lead, endpointId: number, status: string): Promise<Delivery> =>
  eventually(
    async () => {
      const [found] = await listDeliveries(`lead_reference=${lead.reference}&endpoint_id=${endpointId}`)
      const delivery = await tenant.send<Delivery>('GET', `/manage/deliveries/${found?.id}`)
      expect(delivery).toMatchObject({ status })
      return delivery
    },
    { timeoutMs: 60_000 },
  )

/**
 * Waits as long as a whole retry schedule takes: creates a delivery of another account and waits until it is
 * exhausted. By then, every retry of a delivery that failed earlier is due.
 */
const passWholeSchedule = async () => {
  const other = await stage.newTenant()
  const { receiver, id } = await other.listen()
  receiver.answerWith({ status: 500 })
  await other.createLead()
  await eventually(
    async () => {
      const path = `/manage/deliveries?endpoint_id=${id}&status=exhausted`
      expect((await other.client.request<{ total: number }>('GET', path)).json.total).toBe(1)
    },
    { timeoutMs: 60_000 },
  )
}

test('a delivery gets six attempts with the same bytes, none too early, and one more on request when it is exhausted', async () => {
  const { receiver, id } = await tenant.listen()
  receiver.answerWith({ status: 503, body: 'not now' })
  const lead = await tenant.createLead()
  const exhausted = await awaitDelivery(lead, id, 'exhausted')
  expect(exhausted).toMatchObject({ attempt_count: 6, next_attempt_at: null })
  const failure = { status: 503, error: 'http_status', response: 'not now' }
  expect(exhausted.attempts).toMatchObject([1, 2, 3, 4, 5, 6].map((number) => ({ number, ...failure })))
  expect(receiver.requests).toHaveLength(6)
  const [first] = receiver.requests
  for (const { body, headers } of receiver.requests) {
    expect(body.equals(first!.body)).toBe(true)
    expect(headers['webhook-id']).toBe(exhausted.event_id)
  }
  const arrivals = receiver.requests.map(({ arrivedAt }) => arrivedAt.getTime())
  // Allows for the difference between the clocks of the database and the receiver. webhook-service measures
  // the clock of the database only to the duration of a response of the database.
  for (const [index, arrival] of arrivals.slice(1).entries())
    expect(arrival - arrivals[index]!).toBeGreaterThanOrEqual(STEP_MS - 100)

  const retry = () => tenant.send('POST', `/manage/deliveries/${exhausted.id}/retry`)
  await retry()
  await eventually(async () =>
    expect(await awaitDelivery(lead, id, 'exhausted')).toMatchObject({
      attempt_count: 7,
      next_attempt_at: null,
    }),
  )
  receiver.answerWith({ status: 204 })
  await retry()
  const delivered = await awaitDelivery(lead, id, 'delivered')
  expect(delivered.attempts.slice(6).map(({ number, status }) => [number, status])).toEqual([
    [7, 503],
    [8, 204],
  ])
  expect(receiver.requests).toHaveLength(8)
})

test('a redirect, a timeout, a closed connection, a closed port and an unknown host are failures with reasons', async () => {
  const target = await startReceiver()
  try {
    const redirect = { status: 307, headers: { location: target.url } }
    const answers = [redirect, 'hang', 'close'] as const
    const recovering = await Promise.all(answers.map(() => tenant.listen()))
    for (const [index, answer] of answers.entries())
      recovering[index]!.receiver.answerWith((_, count) => (count === 0 ? answer : { status: 200 }))
    const unreachable = await Promise.all(
      ['http://127.0.0.1:1/', 'http://no-such-host.invalid/'].map((url) =>
        tenant.send('POST', ENDPOINTS, { json: { url } }),
      ),
    )
    const lead = await tenant.createLead()

    const listAttempts = async (endpointId: number, status: string) =>
      (await awaitDelivery(lead, endpointId, status)).attempts.map((attempt) => [
        attempt.status,
        attempt.error,
      ])
    const results = await Promise.all(recovering.map(({ id }) => listAttempts(id, 'delivered')))
    expect(results).toEqual([
      [
        [307, 'http_status'],
        [200, null],
      ],
      [
        [null, 'timeout'],
        [200, null],
      ],
      [
        [null, 'reset'],
        [200, null],
      ],
    ])
    const failures = await Promise.all(unreachable.map(({ id }) => listAttempts(id, 'exhausted')))
    expect(failures).toEqual([Array(6).fill([null, 'refused']), Array(6).fill([null, 'dns'])])
    expect(target.requests).toEqual([])
  } finally {
    await target.stop()
  }
})

/**
 * Creates an endpoint with one attempt in flight. The receiver responds to the attempt with 500 when `fail`
 * is called.
 */
const startAttempt = async () => {
  const { receiver, id } = await tenant.listen()
  const { opened, open } = gate()
  receiver.answerWith({ status: 500, after: opened })
  const lead = await tenant.createLead()
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  return { receiver, id, lead, fail: open }
}

test('a disabled endpoint gets nothing, and its deliveries continue with their schedule when it is enabled', async () => {
  const { receiver, id, lead, fail } = await startAttempt()
  await tenant.send('PATCH', `${ENDPOINTS}/${id}`, { json: { enabled: false } })
  fail()
  const later = await tenant.createLead()
  await passWholeSchedule()
  expect(await awaitDelivery(lead, id, 'held')).toMatchObject({ attempt_count: 1 })
  expect(await awaitDelivery(later, id, 'held')).toMatchObject({ attempt_count: 0 })
  expect(receiver.requests).toHaveLength(1)

  receiver.answerWith({ status: 200 })
  await tenant.send('PATCH', `${ENDPOINTS}/${id}`, { json: { enabled: true } })
  const { attempts } = await awaitDelivery(lead, id, 'delivered')
  expect(attempts.map(({ number, status }) => [number, status])).toEqual([
    [1, 500],
    [2, 200],
  ])
  expect(await awaitDelivery(later, id, 'delivered')).toMatchObject({ attempt_count: 1 })
})

test('the deliveries of a deleted endpoint are cancelled, and it gets nothing more', async () => {
  const { receiver, id, fail } = await startAttempt()
  const [delivery] = await listDeliveries(`endpoint_id=${id}`)
  await tenant.send('DELETE', `${ENDPOINTS}/${id}`)
  fail()
  await tenant.createLead()
  await passWholeSchedule()
  expect(await tenant.send('GET', `/manage/deliveries/${delivery!.id}`)).toMatchObject({
    status: 'cancelled',
    next_attempt_at: null,
    // The attempt that was in flight is recorded.
    attempts: [{ number: 1, status: 500 }],
  })
  expect(receiver.requests).toHaveLength(1)
  expect((await tenant.client.request('GET', `${ENDPOINTS}/${id}`)).status).toBe(404)
})

test('the health of a failing endpoint is shown and reported to other endpoints, and the source addresses are listed', async () => {
  const reports = await tenant.listen({ events: ['endpoint.failing', 'delivery.exhausted'] })
  const sound = await tenant.listen()
  const broken = await tenant.listen({ description: 'Broken' })
  broken.receiver.answerWith({ status: 500 })
  const lead = await tenant.createLead()
  await awaitDelivery(lead, sound.id, 'delivered')
  await awaitDelivery(lead, broken.id, 'exhausted')
  const sources = { addresses: ['192.0.2.10', '2001:db8::/64'] }
  expect(await tenant.send('GET', '/manage/webhook-sources')).toEqual(sources)

  const health = await tenant.send<{ endpoint_id: number; hours: { succeeded: number; failed: number }[] }[]>(
    'GET',
    '/manage/webhook-endpoint-health',
  )
  const sumAttempts = (endpointId: number) => {
    const { hours } = health.find(({ endpoint_id }) => endpoint_id === endpointId)!
    const add = (name: 'succeeded' | 'failed') => hours.reduce((sum, hour) => sum + hour[name], 0)
    return { succeeded: add('succeeded'), failed: add('failed') }
  }
  expect(sumAttempts(sound.id)).toEqual({ succeeded: 1, failed: 0 })
  expect(sumAttempts(broken.id)).toEqual({ succeeded: 0, failed: 6 })
  expect(health).toContainEqual(
    expect.objectContaining({ endpoint_id: broken.id, last_success_at: null, pending: 0, exhausted: 1 }),
  )

  const endpoint = { id: broken.id, description: 'Broken', host: new URL(broken.receiver.url).host }
  await eventually(() => {
    const bodies = reports.receiver.requests.map(({ body }) => JSON.parse(body.toString()))
    const about = bodies.map(({ type, data }) => [type, data.endpoint])
    expect(about).toContainEqual(['endpoint.failing', endpoint])
    expect(about).toContainEqual(['delivery.exhausted', endpoint])
  })
})

test('a recovery attempts exhausted deliveries once more', async () => {
  const { receiver, id } = await tenant.listen()
  receiver.answerWith({ status: 500 })
  // The recovery below attempts more deliveries than can run at once. While the receiver does not respond,
  // some of them wait, so the recovery does not end.
  const leads = await Promise.all(Array.from({ length: MORE_THAN_AT_ONCE }, () => tenant.createLead()))
  for (const lead of leads) await awaitDelivery(lead, id, 'exhausted')
  const { opened, open } = gate()
  receiver.answerWith({ status: 200, after: opened })
  const since = new Date(Date.now() - 3_600_000).toISOString()
  const recovered = await tenant.send('POST', `${ENDPOINTS}/${id}/recover`, { json: { since } })
  expect(recovered).toEqual({ recovered: MORE_THAN_AT_ONCE, recovered_capped: false })
  expect(await tenant.send('GET', `${ENDPOINTS}/${id}`)).toMatchObject({
    recovery: {
      since: since.replace('Z', '000Z'),
      remaining: MORE_THAN_AT_ONCE,
      remaining_capped: false,
    },
  })
  open()
  for (const lead of leads)
    expect(await awaitDelivery(lead, id, 'delivered')).toMatchObject({ attempt_count: 7 })
  expect(receiver.requests).toHaveLength(7 * MORE_THAN_AT_ONCE)
})

test('a replay counts the events that an endpoint has missed, and sends them with a whole schedule', async () => {
  const witness = await tenant.listen({ events: ['lead.created', 'lead.updated'] })
  const { reference } = await tenant.createLead()
  await eventually(() => expect(witness.receiver.requests).toHaveLength(1))
  await tenant.send('PATCH', `/leads/${reference}`, { json: { status: 'sold' } })
  await eventually(() => expect(witness.receiver.requests).toHaveLength(2))
  await tenant.createLead()
  await eventually(() => expect(witness.receiver.requests).toHaveLength(3))

  const { receiver, id } = await tenant.listen()
  const path = `${ENDPOINTS}/${id}/replay`
  const count = async (json: object) => {
    const counted = await tenant.send('POST', path, { json: { ...json, dry_run: true } })
    expect(counted).toMatchObject({ state: 'counted', enqueued: 0 })
    return counted['matched']
  }
  expect(await count({})).toBe(2)
  expect(await count({ state: 'exhausted' })).toBe(0)
  expect(await count({ types: ['lead.updated'] })).toBe(1)
  expect(await count({ after_sequence: 1, until_sequence: 3 })).toBe(1)
  expect(await count({ from: '2026-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' })).toBe(2)
  expect(await count({ from: '2099-01-01T00:00:00Z' })).toBe(0)
  expect(receiver.requests).toEqual([])

  receiver.answerWith((_, index) => ({ status: index === 0 ? 500 : 200 }))
  const replay = await tenant.send('POST', path, { json: { after_sequence: 1 } })
  expect(replay).toMatchObject({ matched: 1 })
  await eventually(async () =>
    expect(await tenant.send('GET', `${path}/${replay.id}`)).toMatchObject({ state: 'done', enqueued: 1 }),
  )
  const listSequences = () => receiver.requests.map(({ headers }) => headers['webhook-sequence'])
  await eventually(() => expect(listSequences()).toEqual(['3', '3']))
  // The request to cancel a finished replay changes nothing.
  expect(await tenant.send('DELETE', `${path}/${replay.id}`)).toMatchObject({ state: 'done' })
  await eventually(async () => expect(await count({})).toBe(1))
})
