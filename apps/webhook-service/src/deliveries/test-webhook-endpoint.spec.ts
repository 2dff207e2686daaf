import { Lead } from '@leadwire/contracts'
import { eventually, gate, manualClock, type Receiver, startReceiver } from '@leadwire/test-kit'
import { serviceSignature } from '@leadwire/webhook-receiver'
import type { TSchema } from '@sinclair/typebox'
import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver
const clock = manualClock('2026-01-01T10:30:00Z')

beforeAll(async () => {
  doors = await openDoors()
  // No attempt times out while a call waits for it.
  service = await startService(doors, { clock, WEBHOOK_TIMEOUT: 60_000 })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})
beforeEach(() => {
  receiver.clear()
  receiver.answerWith({ status: 200 })
})

/** Lists the paths of all fields in their order. */
const paths = (value: unknown, path = ''): string[] =>
  typeof value === 'object' && value !== null
    ? [path, ...Object.entries(value).flatMap(([name, each]) => paths(each, `${path}.${name}`))]
    : [path]

const testWebhookEndpoint = (accountId: number, endpointId: number) =>
  service.client.testWebhookEndpoint({ accountId, endpointId, accountKey: 'the-key' })

test('a sample is sent only to this endpoint, and signed and recorded like any event', async () => {
  const { id, secret } = await service.endpoint(1, `${receiver.url}/this`)
  await service.endpoint(1, `${receiver.url}/other`)
  const { delivery, attempt } = await testWebhookEndpoint(1, id)
  expect(delivery).toMatchObject({ endpointId: id, status: 'delivered', attemptCount: 1 })
  expect(attempt).toMatchObject({ number: 1, status: 200 })
  await doors.polls()
  expect(receiver.requests).toHaveLength(1)
  const [request] = receiver.requests
  expect(request).toMatchObject({
    url: '/hooks/leads/this',
    headers: {
      'x-service-account-key': 'the-key',
      'x-service-signature': serviceSignature(request!.body, secret),
      'webhook-id': delivery!.eventId,
    },
  })
  expect(request!.headers).not.toHaveProperty('webhook-sequence')
  expect(request!.headers['webhook-lead-version']).toBe('1')
  const { data } = JSON.parse(request!.body.toString())
  expect(data).toMatchObject({
    id: 0,
    name: 'Sample lead',
    test: 1,
    status: 'test',
    created_at: '2026-01-01T10:30:00.000000Z',
    customer: { id: 0, email: 'ada@example.com' },
    quotes: [{ id: 0, items: [{ options: { width: 1200 }, image: { file_name: 'front.png' } }] }],
  })
  expect(data.quotes[0].items[0]).not.toHaveProperty('product_style')
  expect(await doors.rows('SELECT id FROM events WHERE NOT sample')).toEqual([])
})

test('calls wait up to 5 s for a receiver that does not respond, and delay no other call of the account', async () => {
  const mayRespond = gate()
  receiver.answerWith({ status: 200, after: mayRespond.opened })
  const { id } = await service.endpoint(4, receiver.url)
  const tests = Promise.all(Array.from({ length: 4 }, () => testWebhookEndpoint(4, id)))
  await eventually(() => expect(receiver.requests).toHaveLength(4))
  const { deliveries } = await service.client.listDeliveries({ accountId: 4, page: 1 })
  expect(deliveries).toHaveLength(4)
  for (const { delivery, attempt } of await tests)
    expect([delivery!.status, attempt]).toEqual(['pending', undefined])
  mayRespond.open()
})

test('a call waits for the attempt of another process until its own process drains', async () => {
  // This process makes no attempts.
  const idle = await startService(doors, { clock, WEBHOOK_CONCURRENCY: 0 })
  const { id: endpointId } = await service.endpoint(10, receiver.url)
  const ask = () => idle.client.testWebhookEndpoint({ accountId: 10, endpointId, accountKey: 'the-key' })
  expect(await ask()).toMatchObject({ delivery: { status: 'delivered' }, attempt: { status: 200 } })
  const mayRespond = gate()
  receiver.answerWith({ status: 200, after: mayRespond.opened })
  const waiting = ask()
  await eventually(() => expect(receiver.requests).toHaveLength(2))
  const [{ delivery, attempt }] = await Promise.all([waiting, idle.stop()])
  expect([delivery!.status, attempt]).toEqual(['pending', undefined])
  mayRespond.open()
})

test.each([
  [['attachment.added', 'lead.created'], 'lead.created', { data: { id: 0, quotes: [{}] } }],
  [
    ['callback.scheduled', 'lead.updated'],
    'lead.updated',
    { data: { id: 0, changes: [{ field: 'status' }] } },
  ],
  [['appointment.scheduled'], 'appointment.scheduled', { data: { id: 0, user_id: 0 } }],
  [['callback.scheduled'], 'callback.scheduled', { data: { id: 0, user_id: 0 } }],
  [['attachment.added'], 'attachment.added', { data: { id: 0, file_name: 'sample.png' } }],
  [['lead.erased'], 'lead.erased', { data: { reference: '00000000-0000-4000-8000-000000000000' } }],
  [['endpoint.failing'], 'endpoint.failing', { data: { endpoint: { id: 0, host: 'example.com' } } }],
  [['endpoint.disabled'], 'endpoint.disabled', { data: { disabled_at: '2026-01-01T10:30:00.000000Z' } }],
  [['endpoint.recovered'], 'endpoint.recovered', { data: { recovered_at: '2026-01-01T10:30:00.000000Z' } }],
  [['delivery.exhausted'], 'delivery.exhausted', { data: { count: 1, last_delivery_id: 0 } }],
  [['callback.rescheduled'], 'callback.rescheduled', { data: { id: 0, cancelled_at: null } }],
  [
    ['appointment.cancelled'],
    'appointment.cancelled',
    { data: { id: 0, cancelled_at: '2026-01-01T10:30:00.000000Z' } },
  ],
] as const)('an endpoint that subscribes to %j gets a sample of %s', async (types, type, body) => {
  const { id } = await service.endpoint(7, receiver.url, { types: [...types] })
  const { delivery } = await testWebhookEndpoint(7, id)
  expect(delivery!.event).toBe(type)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const sent = JSON.parse(receiver.requests[0]!.body.toString())
  expect(sent).toMatchObject(body)
  expect(sent.type).toBe(type === 'lead.created' ? undefined : type)
  const version = /^(endpoint|delivery)/.test(type) ? undefined : '1'
  expect(receiver.requests[0]!.headers['webhook-lead-version']).toBe(version)
})

test('the sample has the requested type', async () => {
  const { id: endpointId } = await service.endpoint(9, receiver.url)
  const ask = (type: string) =>
    service.client.testWebhookEndpoint({ accountId: 9, endpointId, accountKey: 'the-key', type })
  expect((await ask('attachment.added')).delivery!.event).toBe('attachment.added')
  await eventually(() => expect(receiver.requests).toHaveLength(1))
})

/** Builds a record with the fields of a schema. */
const buildEmpty = ({ type, items, properties }: TSchema): unknown => {
  if (type === 'array') return [buildEmpty(items)]
  if (!properties) return type === 'object' ? {} : null
  return Object.fromEntries(
    Object.entries<TSchema>(properties).map(([name, field]) => [name, buildEmpty(field)]),
  )
}

test('the sample of a new lead has all fields of a lead in their order', async () => {
  const { id } = await service.endpoint(8, receiver.url)
  await testWebhookEndpoint(8, id)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const isOption = (path: string) => path.includes('.options.')
  const { data } = JSON.parse(receiver.requests[0]!.body.toString())
  expect(paths(data).filter((path) => !isOption(path))).toEqual(
    paths(buildEmpty(Lead)).filter((path) => !/\.product_style(\.|$)/.test(path)),
  )
})

test('each sample is a new event, is held at a disabled endpoint, and is not found by another account', async () => {
  const { id } = await service.endpoint(2, receiver.url, { enabled: false })
  const [first, second] = [await testWebhookEndpoint(2, id), await testWebhookEndpoint(2, id)]
  expect([first.delivery!.status, second.delivery!.status]).toEqual(['held', 'held'])
  expect(first.delivery!.eventId).not.toBe(second.delivery!.eventId)
  await expect(testWebhookEndpoint(3, id)).rejects.toMatchObject({ code: 'not_found' })
  await service.client.updateWebhookEndpoint({ accountId: 2, endpointId: id, enabled: true })
  await eventually(() => expect(receiver.requests).toHaveLength(2))
})

test('health has the open and exhausted deliveries, the last success, and the attempts of each hour', async () => {
  const { id } = await service.endpoint(5, receiver.url)
  const { id: idle } = await service.endpoint(5, receiver.url, { enabled: false })
  await service.endpoint(6, receiver.url)
  const health = async () => (await service.client.listWebhookEndpointHealth({ accountId: 5 })).endpoints
  // The next attempt is scheduled when the result is recorded, so the clock must not advance earlier.
  const arrived = async (total: number) => {
    await eventually(() => expect(receiver.requests).toHaveLength(total))
    await eventually(async () =>
      expect(
        await doors.rows('SELECT id FROM deliveries WHERE account_id = 5 AND claim IS NOT NULL'),
      ).toEqual([]),
    )
  }
  const attempt = async (status: number, count: number) => {
    receiver.answerWith({ status })
    const before = receiver.requests.length
    for (let sent = 0; sent < count; sent += 1) await testWebhookEndpoint(5, id)
    await arrived(before + count)
  }
  await attempt(200, 3)
  await attempt(500, 2)
  clock.advance(3_600_000)
  await arrived(7)
  await attempt(200, 1)
  await testWebhookEndpoint(5, idle)
  await doors.rows(`UPDATE deliveries SET status = 'exhausted', next_attempt_at = NULL WHERE id = (
    SELECT min(id) FROM deliveries WHERE account_id = 5 AND status = 'pending' AND attempt_count = 2)`)
  await eventually(async () => {
    const [first, second, ...others] = await health()
    expect(others).toEqual([])
    expect(second).toMatchObject({
      endpointId: idle,
      lastSuccessAt: undefined,
      pending: 0,
      held: 1,
      exhausted: 0,
    })
    expect(first).toMatchObject({
      lastSuccessAt: '2026-01-01T11:30:00.000000Z',
      pending: 1,
      held: 0,
      exhausted: 1,
    })
    expect(first!.hours).toHaveLength(24)
    expect(first!.hours.slice(-2)).toEqual([
      { hour: '2026-01-01T10:00:00.000000Z', succeeded: 3, failed: 2 },
      { hour: '2026-01-01T11:00:00.000000Z', succeeded: 1, failed: 2 },
    ])
  })
  await doors.rows(
    `UPDATE deliveries SET status = 'exhausted', next_attempt_at = NULL WHERE status = 'pending'`,
  )
  clock.advance(24 * 3_600_000)
  expect((await health())[0]!.hours.every(({ succeeded, failed }) => succeeded + failed === 0)).toBe(true)
  await attempt(500, 1)
  await eventually(async () => {
    const [first] = await health()
    expect(first!.lastSuccessAt).toBe('2026-01-01T11:30:00.000000Z')
    expect(first!.hours.at(-1)).toEqual({ hour: '2026-01-02T11:00:00.000000Z', succeeded: 0, failed: 1 })
  })
})
