import type { Event } from '@leadwire/contracts'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { Client } from 'pg'
import { openDoors, startService } from '../../service.fixture'

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

// The endpoints are disabled, so that no attempts add to the load.
const crowd = (endpoints: number) =>
  doors.rows(
    `INSERT INTO endpoints (account_id, url, enabled)
     SELECT $1, 'http://127.0.0.1:9/', false FROM generate_series(1, $2::int)`,
    [CROWDED, endpoints],
  )

const readHeld = async (events: Event[]) =>
  (await service.client.findStoredEvents({ eventIds: events.map(({ eventId }) => eventId) })).eventIds.length

const countDeliveries = async () => {
  const [row] = await doors.rows<{ count: number }>(
    'SELECT count(*)::int FROM deliveries WHERE account_id = $1',
    [CROWDED],
  )
  return row!.count
}

/**
 * Publishes the bystander's events one after the other. Each event must arrive before the next event is
 * published. Resolves with the number of events that arrived.
 */
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

test('events of another account arrive while sixty events fan out to three thousand endpoints', async () => {
  await crowd(3000)
  // Sends a first event of the bystander, so that connections are open before the measured events.
  await standBy(async () => true)
  const events = Array.from({ length: 60 }, () => doors.event(CROWDED))
  await doors.publish(...events)
  receiver.clear()
  const arrived = await standBy(async () => (await countDeliveries()) === 180_000)
  expect(arrived).toBeGreaterThan(2)
  expect(await readHeld(events)).toBe(events.length)
}, 300_000)

/** Locks the endpoints of the crowded account as a change does. Returns the function that unlocks them. */
const lockEndpoints = async () => {
  const holder = new Client({ connectionString: doors.database.url })
  // If the test fails, dropping the database ends this connection with an error, and so releases the lock.
  holder.on('error', () => undefined)
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT FROM endpoints WHERE account_id = $1 FOR UPDATE', [CROWDED])
  return async () => {
    await holder.query('COMMIT')
    await holder.end()
  }
}

test('an account with a locked endpoint delays no other account, and its events fan out after the unlock', async () => {
  await crowd(2)
  const unlock = await lockEndpoints()
  const events = Array.from({ length: 20 }, () => doors.event(CROWDED))
  await doors.publish(...events)
  await standBy(async () => receiver.requests.length === 30)
  await eventually(async () => expect(await readHeld(events)).toBe(events.length))
  expect(await countDeliveries()).toBe(0)
  await unlock()
  await eventually(async () => expect(await countDeliveries()).toBe(2 * events.length))
})

test('an account with a locked endpoint and too many events in flight delays no other account', async () => {
  await crowd(1)
  const unlock = await lockEndpoints()
  const events = Array.from({ length: 6000 }, () => doors.event(CROWDED))
  await doors.publish(...events)
  await standBy(async () => receiver.requests.length === 20)
  await unlock()
  await eventually(async () => expect(await countDeliveries()).toBe(events.length), { timeoutMs: 200_000 })
}, 300_000)
