import { ENDPOINT_EVENT_TYPES, type EventType } from '@leadwire/contracts'
import {
  eventually,
  manualClock,
  type Receiver,
  startNats,
  startReceiver,
  type TestNats,
} from '@leadwire/test-kit'
import { standardSignature } from '@leadwire/webhook-receiver'
import { microseconds } from '../../clock'
import { openDoors, startService } from '../../service.fixture'

const HOUR_MS = 3_600_000
const [FIRST_PAUSE, SECOND_PAUSE] = [60_000, 300_000]

let nats: TestNats
let doors: Awaited<ReturnType<typeof openDoors>>
let clock: ReturnType<typeof manualClock>
let broken: Receiver
let watching: Receiver
let stop: (() => Promise<void>)[]

beforeAll(async () => {
  nats = await startNats()
})
afterAll(() => nats.stop())
beforeEach(async () => {
  clock = manualClock('2026-01-01T10:30:00Z')
  doors = await openDoors({ nats })
  ;[broken, watching] = await Promise.all([startReceiver(), startReceiver()])
  broken.answerWith({ status: 500 })
  stop = []
})
afterEach(async () => {
  for (const each of stop) await each()
  await broken.stop()
  await watching.stop()
  await doors.close()
})

const start = async (settings: Parameters<typeof startService>[1] = {}) => {
  const started = await startService(doors, { clock, ...settings })
  stop.push(started.stop)
  return started
}

const reportsAt = ({ requests }: Receiver) =>
  requests
    .map(({ body }) => JSON.parse(body.toString()))
    .filter(({ type }) => ENDPOINT_EVENT_TYPES.some((each) => each === type))

const countAttempts = async (endpointId: number): Promise<number> =>
  (
    await doors.rows<{ count: number }>(
      'SELECT count(*)::int FROM attempts a JOIN deliveries d ON d.id = a.delivery_id WHERE endpoint_id = $1',
      [endpointId],
    )
  )[0]!.count

const untilAttempts = (endpointId: number, count: number) =>
  eventually(async () => expect(await countAttempts(endpointId)).toBe(count))

/** Resolves when all attempts have been reviewed, all reports have been sent, and no delivery is due. */
const quiet = async () => {
  await eventually(async () => expect(await doors.rows('SELECT FROM unreviewed_attempts')).toEqual([]))
  await eventually(async () =>
    expect(await doors.rows('SELECT FROM endpoint_reports WHERE due_at <= $1', [clock.now()])).toEqual([]),
  )
  await doors.polls()
}

const states: EventType[] = ['endpoint.failing', 'endpoint.recovered']
const types: EventType[] = ['lead.created', ...ENDPOINT_EVENT_TYPES]

test('the failure and recovery of an endpoint are reported to other subscribed endpoints, but not to itself', async () => {
  const service = await start({ WEBHOOK_RETRY_SCHEDULE: [FIRST_PAUSE, SECOND_PAUSE, 100 * HOUR_MS] })
  const about = await service.endpoint(1, `${broken.url}?key=secret`, { types: ['lead.created', ...states] })
  const receiving = await service.endpoint(1, watching.url, { types: states, leads: 'live' })
  await service.endpoint(1, watching.url, { types: ['appointment.scheduled'] })
  await service.endpoint(2, watching.url, { types: states })
  await doors.publish(doors.event(1, { test: true }))
  await untilAttempts(about.id, 1)
  clock.advance(FIRST_PAUSE + 1000)
  await untilAttempts(about.id, 2)
  await quiet()
  expect(watching.requests).toEqual([])
  clock.advance(SECOND_PAUSE + 1000)
  await eventually(() => expect(reportsAt(watching)).toHaveLength(1))
  const endpoint = { id: about.id, host: `127.0.0.1:${broken.port}`, description: null }
  const since = '2026-01-01T10:30:00.000000Z'
  const failing = { type: 'endpoint.failing', data: { endpoint, since } }
  expect(reportsAt(watching)).toEqual([failing])
  const [{ body, headers }] = watching.requests as [(typeof watching.requests)[number]]
  const signed = { id: String(headers['webhook-id']), timestamp: String(headers['webhook-timestamp']) }
  expect(headers['webhook-signature']).toBe(standardSignature(body, signed, receiving.secret))
  expect(headers).toMatchObject({ 'x-service-account-key': 'key-of-1' })
  for (const name of ['webhook-sequence', 'webhook-lead-version']) expect(headers).not.toHaveProperty(name)

  broken.answerWith({ status: 200 })
  clock.advance(FIRST_PAUSE + 1000)
  await doors.publish(doors.event(1))
  await eventually(() => expect(reportsAt(watching)).toHaveLength(2))
  const recovered_at = microseconds(clock.now())
  expect(reportsAt(watching)[1]).toEqual({
    type: 'endpoint.recovered',
    data: { endpoint, since, recovered_at },
  })
  expect(reportsAt(broken)).toEqual([])

  const { deliveries } = await service.client.listDeliveries({
    accountId: 1,
    type: 'endpoint.failing',
    page: 1,
  })
  expect(deliveries).toMatchObject([{ endpointId: receiving.id, status: 'delivered', leadReference: '' }])
  const log = await service.client.listEvents({ accountId: 1, types: [], limit: 100 })
  expect(log.events.map(({ type, sequence }) => [type, sequence])).toEqual([
    ['lead.created', 1],
    ['lead.created', 2],
  ])
}, 120_000)

test('a change of the endpoint is no recovery: the next success is', async () => {
  const service = await start({ WEBHOOK_RETRY_SCHEDULE: [] })
  const about = await service.endpoint(1, broken.url)
  await service.endpoint(1, watching.url, { types: states })
  const attempt = async (status: number) => {
    broken.answerWith({ status })
    clock.advance(1000)
    const before = await countAttempts(about.id)
    await doors.publish(doors.event(1))
    await untilAttempts(about.id, before + 1)
    await quiet()
  }
  await attempt(200)
  await attempt(500)
  await eventually(() => expect(reportsAt(watching)).toHaveLength(1))
  await service.client.updateWebhookEndpoint({
    accountId: 1,
    endpointId: about.id,
    url: `${broken.url}/changed`,
  })
  await attempt(500)
  expect(reportsAt(watching).map(({ type }) => type)).toEqual(['endpoint.failing'])
  await service.client.updateWebhookEndpoint({
    accountId: 1,
    endpointId: about.id,
    url: `${broken.url}/again`,
  })
  await attempt(200)
  await eventually(() =>
    expect(reportsAt(watching).map(({ type }) => type)).toEqual(['endpoint.failing', 'endpoint.recovered']),
  )
}, 120_000)

test('a report of a type is sent once an hour about an endpoint, with the number of events since', async () => {
  const service = await start({ WEBHOOK_RETRY_SCHEDULE: [] })
  await start({ WEBHOOK_RETRY_SCHEDULE: [] })
  const about = await service.endpoint(1, broken.url)
  await service.endpoint(1, watching.url, { types: ['delivery.exhausted'] })
  await doors.publish(doors.event(1))
  await eventually(() => expect(reportsAt(watching)).toHaveLength(1))
  clock.advance(1000)
  await doors.publish(...Array.from({ length: 5 }, () => doors.event(1)))
  await untilAttempts(about.id, 6)
  await quiet()
  clock.advance(HOUR_MS - 1001)
  await quiet()
  expect(reportsAt(watching)).toHaveLength(1)
  clock.advance(1)
  await eventually(() => expect(reportsAt(watching)).toHaveLength(2))
  expect(reportsAt(watching).map(({ data }) => [data.count, data.since])).toEqual([
    [1, '2026-01-01T10:30:00.000000Z'],
    [5, '2026-01-01T10:30:01.000000Z'],
  ])
  const last = reportsAt(watching)[1].data.last_delivery_id
  const { delivery } = await service.client.retrieveDelivery({ accountId: 1, deliveryId: last })
  expect(delivery).toMatchObject({ endpointId: about.id, status: 'exhausted' })
  clock.advance(HOUR_MS)
  await quiet()
  expect(reportsAt(watching)).toHaveLength(2)
}, 120_000)

test('a report that is due in more than an hour is sent now, because PostgreSQL’s clock has gone back', async () => {
  const service = await start({ WEBHOOK_RETRY_SCHEDULE: [] })
  await service.endpoint(1, broken.url)
  await service.endpoint(1, watching.url, { types: ['delivery.exhausted'] })
  clock.advance(24 * HOUR_MS)
  await doors.publish(doors.event(1))
  await eventually(() => expect(reportsAt(watching)).toHaveLength(1))
  clock.advance(-3 * HOUR_MS)
  await doors.publish(doors.event(1))
  await eventually(() => expect(reportsAt(watching)).toHaveLength(2))
})

test('an endpoint that fails and recovers again within an hour is not reported again', async () => {
  const service = await start({ WEBHOOK_RETRY_SCHEDULE: [] })
  const about = await service.endpoint(1, broken.url)
  await service.endpoint(1, watching.url, { types: states })
  const attempt = async (status: number, attempts: number) => {
    broken.answerWith({ status })
    clock.advance(1000)
    await doors.publish(doors.event(1))
    await untilAttempts(about.id, attempts)
    await quiet()
  }
  // Without retries, each failed delivery is exhausted at once and makes the endpoint failing.
  await attempt(500, 1)
  await attempt(500, 2)
  await attempt(200, 3)
  const types = () => reportsAt(watching).map(({ type }) => type)
  await eventually(() => expect(types()).toEqual(states))
  for (const [index, status] of [500, 500, 200, 500, 500].entries()) await attempt(status, 4 + index)
  expect(types()).toEqual(states)
  // The endpoint is failing when the hour ends.
  clock.advance(HOUR_MS)
  await eventually(() => expect(types()).toEqual([...states, 'endpoint.failing']))
}, 120_000)

test('endpoints that fail and subscribe to reports about each other cause no endless reports', async () => {
  const service = await start({ WEBHOOK_RETRY_SCHEDULE: [FIRST_PAUSE] })
  const ids = []
  for (let count = 0; count < 3; count += 1) ids.push((await service.endpoint(1, broken.url, { types })).id)
  await doors.publish(doors.event(1))
  const reports = () =>
    doors.rows<{ type: string }>('SELECT type FROM events WHERE number IS NULL ORDER BY type')
  const expected = [...Array(3).fill('delivery.exhausted'), ...Array(3).fill('endpoint.failing')]
  for (const id of ids) await untilAttempts(id, 1)
  clock.advance(FIRST_PAUSE + 1000)
  await eventually(async () => expect((await reports()).map(({ type }) => type)).toEqual(expected))
  for (let hour = 0; hour < 4; hour += 1) {
    await quiet()
    clock.advance(HOUR_MS)
  }
  // Each endpoint gets two attempts for the event of the lead, and two for each of the four reports about the
  // other endpoints, which makes ten.
  for (const id of ids) await untilAttempts(id, 10)
  await quiet()
  expect((await reports()).map(({ type }) => type)).toEqual(expected)
}, 120_000)

test('a disabled endpoint is reported, and a deleted endpoint is not', async () => {
  const before = await start({ WEBHOOK_RETRY_SCHEDULE: [1000 * HOUR_MS] })
  const about = await before.endpoint(1, broken.url)
  const deleted = await before.endpoint(1, broken.url)
  await before.endpoint(1, watching.url, { types: ['endpoint.disabled'] })
  await doors.publish(doors.event(1))
  await untilAttempts(about.id, 1)
  await untilAttempts(deleted.id, 1)
  // Waits for the review, because a service looks for failing endpoints when it starts, and then only once a
  // minute.
  const failing = 'SELECT FROM endpoint_failures WHERE endpoint_id = $1'
  await eventually(async () => expect(await doors.rows(failing, [about.id])).toHaveLength(1))
  await before.client.deleteWebhookEndpoint({ accountId: 1, endpointId: deleted.id })
  clock.advance(48 * HOUR_MS)
  await start({ WEBHOOK_DISABLE_AFTER: 48 * HOUR_MS })
  await eventually(() => expect(reportsAt(watching)).toHaveLength(1))
  expect(reportsAt(watching)).toMatchObject([
    {
      type: 'endpoint.disabled',
      data: {
        endpoint: { id: about.id },
        since: '2026-01-01T10:30:00.000000Z',
        disabled_at: '2026-01-03T10:30:00.000000Z',
      },
    },
  ])
  while (!(await before.client.removeAccount({ accountId: 1 })).done);
  expect(await doors.rows('SELECT FROM endpoint_reports')).toEqual([])
}, 120_000)
