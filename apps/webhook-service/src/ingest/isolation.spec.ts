import type { Event } from '@leadwire/contracts'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { Client } from 'pg'
import { openDoors, startService } from '../service.fixture'

const BYSTANDER = 1
const CROWDED = 2

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeEach(async () => {
  doors = await openDoors()
  receiver = await startReceiver()
  service = await startService(doors)
  await service.endpoint(BYSTANDER, receiver.url)
})
afterEach(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})

// Disabled, so that what is written is the whole of the work.
const crowd = (endpoints: number) =>
  doors.rows(
    `INSERT INTO endpoints (account_id, url, enabled)
     SELECT $1, 'http://127.0.0.1:9/', false FROM generate_series(1, $2::int)`,
    [CROWDED, endpoints],
  )

const heldOf = async (events: Event[]) =>
  (await service.client.findStoredEvents({ eventIds: events.map(({ eventId }) => eventId) })).eventIds.length

/** Publishes the bystander's events one after the other; each must arrive before the next. Answers with how many did. */
const standBy = async (until: () => Promise<boolean>) => {
  let arrived = 0
  do {
    await doors.publish(doors.event(BYSTANDER))
    arrived += 1
    await eventually(() => expect(receiver.requests).toHaveLength(arrived), {
      everyMs: 10,
    })
  } while (!(await until()))
  return arrived
}

test('sixty leads to three thousand endpoints are stored, and a bystander is served all the while', async () => {
  await crowd(3000)
  // Before the crowd's, one of its own: what is done once, such as connecting, is then done.
  await standBy(async () => true)
  const events = Array.from({ length: 60 }, () => doors.event(CROWDED))
  await doors.publish(...events)
  receiver.clear()
  const arrived = await standBy(async () => (await heldOf(events)) === events.length)
  expect(arrived).toBeGreaterThan(2)
  expect(await doors.rows('SELECT count(*)::int FROM deliveries WHERE account_id = $1', [CROWDED])).toEqual([
    { count: 180_000 },
  ])
}, 300_000)

/** Locks the crowded account's endpoints as a change of them does; answers with what ends it. */
const lockEndpoints = async () => {
  const holder = new Client({ connectionString: doors.database.url })
  // A test that fails leaves it to the end of its database.
  holder.on('error', () => undefined)
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT FROM endpoints WHERE account_id = $1 FOR UPDATE', [CROWDED])
  return async () => {
    await holder.query('COMMIT')
    await holder.end()
  }
}

test('an account whose endpoint is locked for long delays no other, and its events are stored when it is free', async () => {
  await crowd(2)
  const unlock = await lockEndpoints()
  const events = Array.from({ length: 20 }, () => doors.event(CROWDED))
  await doors.publish(...events)
  await standBy(async () => receiver.requests.length === 30)
  expect(await heldOf(events)).toBe(0)
  await unlock()
  await eventually(async () => expect(await heldOf(events)).toBe(events.length))
})

test('nor does it with more events than may be in flight', async () => {
  await crowd(1)
  const unlock = await lockEndpoints()
  const events = Array.from({ length: 6000 }, () => doors.event(CROWDED))
  await doors.publish(...events)
  await standBy(async () => receiver.requests.length === 20)
  await unlock()
  await eventually(async () => expect(await heldOf(events)).toBe(events.length))
})
