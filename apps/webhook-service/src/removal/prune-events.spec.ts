import { randomUUID } from 'node:crypto'
import { connectDatabase, createLifecycle, createLogger, type Lifecycle } from '@leadwire/service-kit'
import { eventually, gate, type Receiver, startNats, startReceiver, type TestNats } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'
import { createPruneEvents } from './prune-events'

const DAY_MS = 24 * 3_600_000

let nats: TestNats
let doors: Awaited<ReturnType<typeof openDoors>>
let receiver: Receiver
let lifecycle: Lifecycle

beforeAll(async () => {
  nats = await startNats()
})
afterAll(() => nats.stop())
beforeEach(async () => {
  doors = await openDoors({ nats })
  receiver = await startReceiver()
  lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
})
afterEach(async () => {
  await lifecycle.stop()
  await receiver.stop()
  await doors.close()
})

const start = () => startService(doors, { WEBHOOK_RETRY_SCHEDULE: [] })
type Service = Awaited<ReturnType<typeof start>>

const daysPass = async (days: number, schema = 'public') => {
  const by = [`${days} days`]
  await doors.rows(
    `UPDATE ${schema}.events SET created_at = created_at - $1::interval, kept_at = kept_at - $1::interval`,
    by,
  )
  await doors.rows(`UPDATE ${schema}.deliveries SET updated_at = updated_at - $1::interval`, by)
}

// The service prunes when it starts.
const prune = async () => {
  const began = Date.now() / 1000
  const service = await start()
  const runs = 'leadwire_pruning_last_run_timestamp_seconds(?={[^}]*rows="webhooks")'
  await eventually(async () => expect(await service.metric(runs)).toBeGreaterThan(began))
  const rows = await service.metric('leadwire_pruned_rows_total(?={[^}]*rows="webhooks")')
  await service.stop()
  return rows
}

const kept = async () => {
  const events = await doors.rows<{ event: string; statuses: string[] }>(`
    SELECT e.account_key AS event, array_remove(array_agg(d.status ORDER BY d.id), NULL) AS statuses
    FROM events e LEFT JOIN deliveries d ON d.event_id = e.id GROUP BY e.id ORDER BY 1`)
  const orphans = await doors.rows(
    'SELECT delivery_id FROM attempts WHERE delivery_id NOT IN (SELECT id FROM deliveries)',
  )
  expect(orphans).toEqual([])
  return Object.fromEntries(events.map(({ event, statuses }) => [event.replace('key-of-', ''), statuses]))
}

const [DELIVERED, EXHAUSTED, HELD, NOBODYS, MIXED] = [1, 2, 3, 4, 5]
const SAMPLE = 'sample'

const testEndpoint = async (service: Service, accountId: number) => {
  const { id: endpointId } = await service.endpoint(accountId, receiver.url)
  await service.client.testWebhookEndpoint({ accountId, endpointId, accountKey: SAMPLE })
}

const fill = async (service: Service) => {
  receiver.answerWith(({ url }) => ({ status: url.endsWith('/bad') ? 500 : 200 }))
  const bad = `${receiver.url}/bad`
  await service.endpoint(DELIVERED!, receiver.url)
  await service.endpoint(EXHAUSTED!, bad)
  await service.endpoint(HELD!, receiver.url, { enabled: false })
  await service.endpoint(MIXED!, receiver.url)
  await service.endpoint(MIXED!, bad)
  await doors.publish(...[DELIVERED, EXHAUSTED, HELD, NOBODYS, MIXED].map((id) => doors.event(id!)))
  await testEndpoint(service, 6)
  await eventually(async () =>
    expect(await kept()).toEqual({
      [DELIVERED!]: ['delivered'],
      [EXHAUSTED!]: ['exhausted'],
      [HELD!]: ['held'],
      [NOBODYS!]: [],
      [MIXED!]: ['delivered', 'exhausted'],
      [SAMPLE]: ['delivered'],
    }),
  )
}

test('delivered deliveries are removed after 30 days, exhausted ones and samples after 90, and open ones never', async () => {
  const service = await start()
  await fill(service)
  await service.stop()
  await daysPass(29.9)
  expect(await prune()).toBe(0)
  await daysPass(0.2)
  // Removes a delivered delivery with its event, an event without deliveries, and a delivery of the mixed
  // event.
  expect(await prune()).toBe(4)
  expect(await kept()).toEqual({
    [EXHAUSTED!]: ['exhausted'],
    [HELD!]: ['held'],
    [MIXED!]: ['exhausted'],
    [SAMPLE]: ['delivered'],
  })
  await daysPass(59.8)
  expect(await prune()).toBe(0)
  await daysPass(0.2)
  expect(await prune()).toBe(6)
  expect(await kept()).toEqual({ [HELD!]: ['held'] })
})

test('a deleted endpoint is removed with its last delivery, and not before 90 days', async () => {
  const service = await start()
  receiver.answerWith({ status: 500 })
  const [kept, unused, used] = [
    await service.endpoint(1, receiver.url),
    await service.endpoint(2, receiver.url),
    await service.endpoint(3, receiver.url),
  ]
  await doors.publish(doors.event(1), doors.event(3))
  await eventually(async () => {
    expect(await doors.rows("SELECT id FROM deliveries WHERE status = 'exhausted'")).toHaveLength(2)
    expect(await doors.rows('SELECT endpoint_id FROM endpoint_hours')).toHaveLength(2)
  })
  const mayRespond = gate()
  receiver.answerWith({ status: 500, after: mayRespond.opened })
  await doors.publish(doors.event(3))
  await eventually(() => expect(receiver.requests).toHaveLength(3))
  for (const [accountId, { id: endpointId }] of [[2, unused] as const, [3, used] as const])
    await service.client.deleteWebhookEndpoint({ accountId, endpointId })
  mayRespond.open()
  const failing = () => doors.rows('SELECT endpoint_id::int AS id FROM endpoint_failures ORDER BY 1')
  await eventually(async () => expect(await failing()).toEqual([{ id: kept.id }, { id: used.id }]))
  await service.stop()
  const ids = () => doors.rows('SELECT id::int FROM endpoints ORDER BY id')
  const age = (days: number) =>
    doors.rows('UPDATE endpoints SET deleted_at = deleted_at - $1::interval', [`${days} days`])
  await age(89.9)
  await prune()
  expect(await ids()).toEqual([kept, unused, used].map(({ id }) => ({ id })))
  await age(0.2)
  await prune()
  expect(await ids()).toEqual([{ id: kept.id }, { id: used.id }])
  await daysPass(90.1)
  await prune()
  expect(await ids()).toEqual([{ id: kept.id }])
  expect(await failing()).toEqual([{ id: kept.id }])
})

test('deliveries of lead.erased are kept outside the log, even after their endpoint was removed', async () => {
  const service = await start()
  const { id: endpointId } = await service.endpoint(1, receiver.url, { types: ['lead.erased'] })
  const erased = doors.event(1, { type: 'lead.erased' })
  await doors.publish(doors.event(1), erased)
  const listReceivers = async ({ client }: Service) =>
    client.listEventReceivers({ accountId: 1, eventId: erased.eventId })
  await eventually(async () =>
    expect(await listReceivers(service)).toMatchObject({
      stored: true,
      receivers: [{ endpointId, status: 'delivered', deliveredAt: expect.stringMatching(/Z$/) }],
    }),
  )
  const found = await listReceivers(service)
  await service.client.deleteWebhookEndpoint({ accountId: 1, endpointId })
  await service.stop()
  await daysPass(90.1)
  await doors.rows(`UPDATE endpoints SET deleted_at = deleted_at - interval '91 days'`)
  // Removes only the event that is not of the type `lead.erased`.
  expect(await prune()).toBe(1)
  const rows = () => doors.rows('SELECT id, number, kept_at::text, xmin FROM events')
  const left = await rows()
  expect(left).toMatchObject([{ id: erased.eventId, number: null, kept_at: 'infinity' }])
  expect(await doors.rows('SELECT id FROM endpoints')).toEqual([])
  expect(await prune()).toBe(0)
  expect(await rows()).toEqual(left)

  const later = await start()
  expect(await listReceivers(later)).toEqual(found)
  const deliveryId = found.receivers[0]!.deliveryId
  expect(await later.client.retrieveDelivery({ accountId: 1, deliveryId })).toMatchObject({
    delivery: { status: 'delivered' },
    attempts: [{ status: 200 }],
  })
  expect(await later.client.listEvents({ accountId: 1, types: [], limit: 10 })).toMatchObject({ events: [] })
  await later.stop()
})

test('a delivery that was held for a long time is kept for 30 days after its end', async () => {
  const service = await start()
  const { id } = await service.endpoint(1, receiver.url, { enabled: false })
  await doors.publish(doors.event(1))
  await eventually(async () => expect(await kept()).toEqual({ 1: ['held'] }))
  await service.stop()
  await daysPass(100)
  expect(await prune()).toBe(0)
  await daysPass(10)
  const later = await start()
  await later.client.updateWebhookEndpoint({ accountId: 1, endpointId: id, enabled: true })
  await eventually(async () => expect(await kept()).toEqual({ 1: ['delivered'] }))
  await later.stop()
  for (const days of [20.1, 9.8]) {
    await daysPass(days)
    expect(await prune()).toBe(0)
  }
  await daysPass(0.2)
  expect(await prune()).toBe(2)
})

const database = (schema: string) =>
  connectDatabase({ url: doors.database.url, poolSize: 3, lifecycle }).with(schema, [
    `search_path = ${schema}`,
  ])

// Inserts `count` events with two deliveries each. For every third event, the second delivery is open.
const fillTables = (count: number, schema = 'public') =>
  doors.rows(
    `WITH stored AS (
       INSERT INTO ${schema}.events (id, account_id, account_key, lead_reference, body, created_at)
       SELECT gen_random_uuid(), 1, 'key', $2, '', clock_timestamp() - interval '31 days' + n * interval '1 ms'
       FROM generate_series(1, $1::int) n RETURNING id, created_at
     ), numbered AS (SELECT *, row_number() OVER (ORDER BY created_at) AS n FROM stored)
     INSERT INTO ${schema}.deliveries (account_id, event_id, endpoint_id, lead_reference, status, attempt_count, next_attempt_at, updated_at)
     SELECT 1, id, e, $2, CASE WHEN open THEN 'held' ELSE 'delivered' END, 1, CASE WHEN open THEN clock_timestamp() END, created_at
     FROM numbered CROSS JOIN generate_series(1, 2) e CROSS JOIN LATERAL (SELECT n % 3 = 0 AND e = 2 AS open) o`,
    [count, randomUUID()],
  )

const KEPT = { doneMs: 30 * DAY_MS, exhaustedMs: 90 * DAY_MS }
const nothing = async () => undefined

test.each([
  'public',
  'notifications',
])('prunes %s in batches, one process at a time, and reads remaining events once', async (schema) => {
  await (await start()).stop()
  await fillTables(30, schema)
  const copies = [1, 2].map(
    () => createPruneEvents(database(schema), KEPT, nothing, { events: 4, deliveries: 3 }).batch,
  )
  let rows = 0
  const rounds = async (copy: (typeof copies)[number]) => {
    for (let more = true; more; ) {
      const pruned = await copy()
      rows += pruned.rows
      more = pruned.more
    }
  }
  await Promise.all(copies.map(rounds))
  // The last batch of one process may have done nothing, because the other process held the lock. So another
  // round follows.
  await rounds(copies[0]!)
  expect(rows).toBe(20 * 3 + 10)
  const state = () =>
    doors.rows(`SELECT e.id, e.xmin, kept_at, d.status FROM ${schema}.events e
        JOIN ${schema}.deliveries d ON d.event_id = e.id ORDER BY e.id`)
  const left = await state()
  expect(left).toHaveLength(10)
  await rounds(copies[0]!)
  expect(await state()).toEqual(left)
  await daysPass(30, schema)
  await rounds(copies[0]!)
  expect(await state()).not.toEqual(left)
})

test('recent events are not read', async () => {
  await (await start()).stop()
  await fillTables(5)
  await doors.rows(
    `INSERT INTO events (id, account_id, account_key, lead_reference, body)
     SELECT gen_random_uuid(), 1, 'key', gen_random_uuid(), '' FROM generate_series(1, 500)`,
  )
  const read = async () => {
    const [row] = await doors.rows<{ read: string }>(
      `SELECT idx_tup_read AS read FROM pg_stat_user_indexes WHERE schemaname = 'public' AND indexrelname = 'events_by_age'`,
    )
    return Number(row!.read)
  }
  expect(await read()).toBe(0)
  expect((await createPruneEvents(database('public'), KEPT, nothing).batch()).more).toBe(false)
  // PostgreSQL reports the statistics of a connection when the connection ends.
  await lifecycle.stop()
  await eventually(async () => expect(await read()).toBeGreaterThan(0))
  expect(await read()).toBeLessThan(20)
})

test('a row that an erasure has locked is pruned by the next run', async () => {
  await (await start()).stop()
  await fillTables(2)
  const { batch: copy } = createPruneEvents(database('public'), KEPT, nothing)
  await doors.rows('BEGIN')
  await doors.rows('SELECT id FROM events ORDER BY created_at LIMIT 1 FOR UPDATE')
  expect(await copy()).toEqual({ rows: 3, more: false })
  await doors.rows('COMMIT')
  expect(await copy()).toEqual({ rows: 3, more: false })
})
