import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { type Lead, type Stage, startStage, type Tenant } from '../stage.fixture'

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

const STEP_MS = 1000
const TIMEOUT_MS = 3000

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage({ env: { WEBHOOK_RETRY_SCHEDULE: '1s,1s,1s,1s,1s', WEBHOOK_TIMEOUT: '3s' } })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const deliveryOf = async ({ reference }: Lead, endpointId?: number): Promise<Delivery> => {
  const filter = endpointId === undefined ? '' : `&endpoint_id=${endpointId}`
  const list = await tenant.client.request<{ data: { id: number }[] }>(
    'GET',
    `/manage/deliveries?lead_reference=${reference}${filter}`,
  )
  return tenant.send<Delivery>('GET', `/manage/deliveries/${list.json.data[0]?.id}`)
}

const deliveryThatIs = (lead: Lead, status: string, endpointId?: number) =>
  eventually(async () => {
    const delivery = await deliveryOf(lead, endpointId)
    expect(delivery).toMatchObject({ status })
    return delivery
  })

/** From the end of each attempt to the start of the next, as they were written down. */
const pauses = (attempts: Attempt[]) =>
  attempts
    .slice(1)
    .map(
      (attempt, i) =>
        Date.parse(attempt.started_at) - Date.parse(attempts[i]!.started_at) - attempts[i]!.duration_ms,
    )

/**
 * Waits until the first retry of a delivery that is made now is over. It is due later than all retries of what failed
 * before: each of those was made by then, or is not made at all.
 */
const retriesOfBefore = async () => {
  const other = await stage.newTenant()
  const { receiver } = await other.listen()
  receiver.answerWith((_, index) => ({ status: index === 0 ? 500 : 200 }))
  await other.createLead()
  await eventually(async () => {
    const { json } = await other.client.request<{ total: number }>(
      'GET',
      '/manage/deliveries?status=delivered',
    )
    expect(json.total).toBe(1)
  })
}

const told = ({ requests }: Receiver) =>
  requests.map(({ body }) => (JSON.parse(body.toString()) as { data: Lead }).data.reference)

test('a receiver that always fails gets six attempts of the same bytes, none early; then it is exhausted', async () => {
  const { receiver } = await tenant.listen()
  receiver.answerWith({ status: 503, body: 'not now' })
  const lead = await tenant.createLead()
  const delivery = await deliveryThatIs(lead, 'exhausted')

  expect(receiver.requests).toHaveLength(6)
  const [first] = receiver.requests
  for (const { body, headers } of receiver.requests) {
    expect(body.equals(first!.body)).toBe(true)
    expect(headers['webhook-id']).toBe(delivery.event_id)
    expect(headers['x-service-signature']).toBe(first!.headers['x-service-signature'])
    expect(headers['user-agent']).toBe(first!.headers['user-agent'])
  }
  expect(delivery).toMatchObject({ attempt_count: 6, next_attempt_at: null })
  expect(
    delivery.attempts.map(({ number, status, error, response }) => [number, status, error, response]),
  ).toEqual([1, 2, 3, 4, 5, 6].map((number) => [number, 503, 'http_status', 'not now']))
  for (const pause of pauses(delivery.attempts)) expect(pause).toBeGreaterThanOrEqual(STEP_MS - 1)
  const arrivals = receiver.requests.map(({ arrivedAt }) => arrivedAt.getTime())
  for (const [i, arrival] of arrivals.slice(1).entries())
    expect(arrival - arrivals[i]!).toBeGreaterThanOrEqual(STEP_MS - 5)
})

test('a receiver that recovers gets its webhook once more, and no further', async () => {
  const { receiver } = await tenant.listen()
  receiver.answerWith((_, index) => ({ status: index < 2 ? 500 : 204 }))
  const lead = await tenant.createLead()
  const delivery = await deliveryThatIs(lead, 'delivered')
  expect(delivery.attempts.map(({ status, error }) => [status, error])).toEqual([
    [500, 'http_status'],
    [500, 'http_status'],
    [204, null],
  ])
  expect(receiver.requests).toHaveLength(3)
})

test('a 3xx is a failure and is not followed', async () => {
  const target = await startReceiver()
  try {
    const statuses = [300, 301, 302, 303, 307, 308]
    const endpoints = await Promise.all(statuses.map(() => tenant.listen()))
    for (const [i, { receiver }] of endpoints.entries()) {
      const redirect = { status: statuses[i]!, headers: { location: target.url } }
      receiver.answerWith((_, index) => (index === 0 ? redirect : { status: 200 }))
    }
    const lead = await tenant.createLead()
    for (const [i, { id }] of endpoints.entries()) {
      const { attempts } = await deliveryThatIs(lead, 'delivered', id)
      expect(attempts.map(({ status }) => status)).toEqual([statuses[i], 200])
    }
    expect(target.requests).toEqual([])
  } finally {
    await target.stop()
  }
})

test.each([
  ['hangs', 'hang', 'timeout'],
  ['cuts the connection', 'close', 'reset'],
  ['answers too late', { status: 200, delayMs: TIMEOUT_MS + 1000 }, 'timeout'],
] as const)('a receiver that %s has failed', async (_what, answer, error) => {
  const { receiver } = await tenant.listen()
  receiver.answerWith((_, index) => (index === 0 ? answer : { status: 200 }))
  const delivery = await deliveryThatIs(await tenant.createLead(), 'delivered')
  expect(delivery.attempts.map((attempt) => [attempt.status, attempt.error])).toEqual([
    [null, error],
    [200, null],
  ])
  if (error === 'timeout') {
    expect(delivery.attempts[0]!.duration_ms).toBeGreaterThanOrEqual(TIMEOUT_MS - 10)
    expect(pauses(delivery.attempts)[0]).toBeGreaterThanOrEqual(STEP_MS - 1)
  }
})

test('nobody listening, and no such host, are told apart', async () => {
  const gone = await startReceiver()
  await gone.stop()
  const endpoint = async (url: string) =>
    (await tenant.send('POST', '/manage/webhook-endpoints', { json: { url } })).id
  const refused = await endpoint(gone.url)
  const unknown = await endpoint('http://no-such-host.invalid/')
  const lead = await tenant.createLead()
  for (const [id, error] of [
    [refused, 'refused'],
    [unknown, 'dns'],
  ] as const) {
    await eventually(async () => {
      expect((await deliveryOf(lead, id)).attempts[0]).toMatchObject({ status: null, error, response: null })
    })
  }
})

test('a receiver that fails changes nothing for the others', async () => {
  const broken = await tenant.listen()
  broken.receiver.answerWith('hang')
  const sound = await tenant.listen()
  const leads: Lead[] = []
  for (let i = 0; i < 10; i++) leads.push(await tenant.createLead())
  await eventually(() =>
    expect(told(sound.receiver).sort()).toEqual(leads.map((lead) => lead.reference).sort()),
  )
})

test('while an endpoint is disabled its deliveries are held; enabled, they go at once', async () => {
  const { receiver, id } = await tenant.listen({ enabled: false })
  const path = `/manage/webhook-endpoints/${id}`
  const lead = await tenant.createLead()
  await deliveryThatIs(lead, 'held')
  expect(receiver.requests).toEqual([])
  await tenant.send('PATCH', path, { json: { enabled: true } })
  const delivery = await deliveryThatIs(lead, 'delivered')
  expect(told(receiver)).toEqual([lead.reference])
  expect(delivery.attempt_count).toBe(1)
})

test('an endpoint disabled in the middle of its schedule goes on where it was', async () => {
  const { receiver, id } = await tenant.listen()
  receiver.answerWith((_, index) => ({ status: index === 0 ? 500 : 200 }))
  const path = `/manage/webhook-endpoints/${id}`
  const lead = await tenant.createLead()
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await tenant.send('PATCH', path, { json: { enabled: false } })
  await deliveryThatIs(lead, 'held')
  const later = await tenant.createLead()
  await retriesOfBefore()
  expect(receiver.requests).toHaveLength(1)
  await tenant.send('PATCH', path, { json: { enabled: true } })
  const delivery = await deliveryThatIs(lead, 'delivered')
  expect(delivery.attempts.map(({ status }) => status)).toEqual([500, 200])
  await deliveryThatIs(later, 'delivered')
})

test('a deleted endpoint’s deliveries are cancelled, and nothing is sent to it any more', async () => {
  const { receiver, id } = await tenant.listen()
  receiver.answerWith({ status: 500 })
  const lead = await tenant.createLead()
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const { id: deliveryId } = await deliveryOf(lead)
  await tenant.send('DELETE', `/manage/webhook-endpoints/${id}`)
  const later = await tenant.createLead()
  const deliveryNow = () => tenant.send<Delivery>('GET', `/manage/deliveries/${deliveryId}`)
  await retriesOfBefore()
  const delivery = await deliveryNow()
  expect(delivery).toMatchObject({ status: 'cancelled', next_attempt_at: null })
  // On a busy machine the retry may have begun before the deletion: then it is made to its end.
  expect(delivery.attempt_count).toBeLessThanOrEqual(2)
  await retriesOfBefore()
  expect(await deliveryNow()).toEqual(delivery)
  const ours = told(receiver).filter((reference) => [lead.reference, later.reference].includes(reference))
  expect(ours).toEqual(Array(delivery.attempt_count).fill(lead.reference))
})

test('address and secret are read when an attempt starts', async () => {
  const { receiver, id } = await tenant.listen()
  receiver.answerWith({ status: 500 })
  const target = await startReceiver()
  try {
    const lead = await tenant.createLead()
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    await tenant.send('PATCH', `/manage/webhook-endpoints/${id}`, { json: { url: target.url } })
    const { attempts } = await deliveryThatIs(lead, 'delivered')
    expect(told(target)).toContain(lead.reference)
    // On a busy machine an attempt may end before its answer is read; none is made that is not written down.
    expect(receiver.requests.length + target.requests.length).toBeLessThanOrEqual(attempts.length)
  } finally {
    await target.stop()
  }
})

test('an exhausted delivery is attempted once more on request, and starts no new schedule', async () => {
  const { receiver } = await tenant.listen()
  receiver.answerWith((_, index) => ({ status: index < 7 ? 500 : 200 }))
  const lead = await tenant.createLead()
  const { id } = await deliveryThatIs(lead, 'exhausted')
  for (const [attempts, status] of [
    [7, 'exhausted'],
    [8, 'delivered'],
  ] as const) {
    await tenant.send('POST', `/manage/deliveries/${id}/retry`)
    await eventually(async () => {
      expect(await deliveryOf(lead)).toMatchObject({ status, attempt_count: attempts, next_attempt_at: null })
    })
  }
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(receiver.requests).toHaveLength(8)
})
