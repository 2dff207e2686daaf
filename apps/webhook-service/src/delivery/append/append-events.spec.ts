import {
  createLifecycle,
  createLogger,
  type Database,
  type Lifecycle,
  migrate,
  within,
} from '@leadwire/service-kit'
import { createDatabase, eventually, type TestDatabase } from '@leadwire/test-kit'
import { migrations } from '../../migrations'
import { sealedFor, storedEvent } from '../../service.fixture'
import { connectTables } from '../deliver-events'
import { appendEvents } from './append-events'
import type { StoredEvent } from './read-event'

const SELECT_LOCK_WAITS = `
  SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

let lifecycle: Lifecycle
let created: TestDatabase
let database: Database

beforeEach(async () => {
  lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
  created = await createDatabase()
  await migrate(created.url, migrations)
  const { leads } = connectTables({ url: created.url, poolSize: 5, lifecycle })
  database = leads.append
  await database.query({
    text: `INSERT INTO endpoints (account_id, url, enabled, sealed_secrets) VALUES (1, 'http://127.0.0.1:9/', true, $1)`,
    values: [sealedFor(1)],
  })
})
afterEach(async () => {
  await lifecycle.stop()
  await created.drop()
})

const append = (on: Database, event: StoredEvent, { fansOut }: { fansOut: boolean }) => {
  const limits = { claim: { number: 1, validMs: 1000 }, deliveries: 0, perEndpoint: 1, mayClaim: () => true }
  return appendEvents(on, { events: [event], now: new Date(), fansOut, limits })
}

/** Appends `first` in a transaction that commits only when the append of `second` waits for its counter. */
const appendBoth = async (first: [StoredEvent, { fansOut: boolean }], second: StoredEvent) => {
  const { appending } = await database.transaction(async (tx) => {
    await append(within(tx), ...first)
    const waiting = append(database, second, { fansOut: true })
    await eventually(async () =>
      expect(await database.query({ text: SELECT_LOCK_WAITS })).toEqual([{ query: expect.any(String) }]),
    )
    return { appending: waiting }
  })
  return appending
}

const listNumbers = async () => {
  const rows = await database.query<{ id: string; number: number }>({
    text: 'SELECT id, number FROM events ORDER BY number',
  })
  return rows.map(({ id, number }) => [id, number])
}

test('an event does not fan out before an earlier one that was queued meanwhile', async () => {
  const [earlier, later] = [storedEvent(1), storedEvent(1)]
  const appended = await appendBoth([earlier, { fansOut: false }], later)
  expect(appended.hasQueued).toBe(true)
  expect(await listNumbers()).toEqual([
    [earlier.id, 1],
    [later.id, 2],
  ])
  const queue = await database.query<{ eventId: string }>({
    text: 'SELECT event_id AS "eventId" FROM fan_out_queue ORDER BY id',
  })
  expect(queue.map(({ eventId }) => eventId)).toEqual([earlier.id, later.id])
  expect(await database.query({ text: 'SELECT FROM deliveries' })).toEqual([])
})

test('an event that another transaction stores meanwhile draws no second number', async () => {
  const event = { ...storedEvent(1), streamSequence: 7 }
  const appended = await appendBoth([event, { fansOut: true }], event)
  expect(appended.repeated).toEqual([{ eventId: event.id, sequence: 7 }])
  await append(database, storedEvent(1), { fansOut: true })
  expect((await listNumbers()).map(([, number]) => number)).toEqual([1, 2])
  expect(await database.query({ text: 'SELECT FROM deliveries' })).toHaveLength(2)
})
