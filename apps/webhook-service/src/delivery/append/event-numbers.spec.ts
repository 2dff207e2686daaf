import { randomUUID } from 'node:crypto'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let services: Awaited<ReturnType<typeof startService>>[]
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  services = [await startService(doors), await startService(doors)]
  receiver = await startReceiver()
})
afterAll(async () => {
  await Promise.all(services.map(({ stop }) => stop()))
  await receiver.stop()
  await doors.close()
})

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const readLog = (accountId: number) =>
  doors.rows<{ id: string; number: string }>(
    'SELECT id, number FROM events WHERE account_id = $1 AND number IS NOT NULL ORDER BY number',
    [accountId],
  )
const readNumbers = async (accountId: number) =>
  (await readLog(accountId)).map(({ number }) => Number(number))

test('the numbers of each account have no gaps, despite duplicates and interruptions', async () => {
  const accounts = [1, 2, 3]
  const types = ['lead.created', 'lead.updated'] as const
  for (const account of accounts) await services[0]!.endpoint(account, receiver.url, { types: [...types] })
  const events = accounts.flatMap((account) =>
    upTo(120).map((at) => doors.event(account, { type: types[at % 2]!, leadVersion: at })),
  )
  // Publishes some events twice. Their two messages may reach different services, or the same batch.
  const publishing = upTo(6).map((of) =>
    doors.publish(...events.filter((_, at) => at % 6 === of - 1), ...events.filter((_, at) => at % 5 === of)),
  )
  await doors.rows(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  await Promise.all(publishing)
  await eventually(async () => {
    for (const account of accounts) expect(await readNumbers(account)).toEqual(upTo(120))
    const arrived = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']))
    expect(arrived.size).toBe(events.length)
  })
  const log: Awaited<ReturnType<typeof readLog>> = []
  for (const account of accounts) log.push(...(await readLog(account)))
  const numbers = new Map(log.map(({ id, number }) => [id, number]))
  const versions = new Map(events.map(({ eventId, leadVersion }) => [eventId, String(leadVersion)]))
  for (const { headers } of receiver.requests) {
    const id = String(headers['webhook-id'])
    expect([headers['webhook-sequence'], headers['webhook-lead-version']]).toEqual([
      numbers.get(id),
      versions.get(id),
    ])
  }
})

test('an event that arrives again keeps its number and uses up no other', async () => {
  const [first, second, third] = [doors.event(4), doors.event(4), doors.event(4)]
  for (const events of [[first], [first, first], [second, first], [first, third, second]]) {
    await doors.publish(...events)
    const eventIds = events.map(({ eventId }) => eventId)
    await eventually(async () =>
      expect(new Set((await services[0]!.client.findStoredEvents({ eventIds })).eventIds)).toEqual(
        new Set(eventIds),
      ),
    )
  }
  await eventually(async () =>
    expect((await readLog(4)).map(({ id }) => id)).toEqual(
      [first, second, third].map((each) => each.eventId),
    ),
  )
  expect(await readNumbers(4)).toEqual([1, 2, 3])
})

test('dead letters, test sends and tombstones get no number, and an erasure does not change numbers', async () => {
  const [service] = services
  const { id: endpointId } = await service!.endpoint(5, receiver.url)
  const leadReference = randomUUID()
  const [before, after, missing] = [
    doors.event(5, { leadReference }),
    doors.event(5),
    doors.event(5, { leadReference }),
  ]
  const held = async (eventId: string) =>
    eventually(async () =>
      expect((await service!.client.findStoredEvents({ eventIds: [eventId] })).eventIds).toEqual([eventId]),
    )
  await doors.publish(before)
  await held(before.eventId)
  await doors.publish(
    doors.event(5, { type: 'lead.eaten' }),
    doors.event(5, { createdAt: '2026-02-31T00:00:00.000000Z' }),
  )
  await service!.client.testWebhookEndpoint({ accountId: 5, endpointId, accountKey: 'key' })
  const erased = { accountId: 5, leadReference, eventIds: [before.eventId, missing.eventId], tombstone: true }
  await service!.client.eraseLeadEvents(erased)
  await doors.publish(missing, after)
  await held(after.eventId)
  expect((await readLog(5)).map(({ id }) => id)).toEqual([before.eventId, after.eventId])
  expect(await readNumbers(5)).toEqual([1, 2])
  expect(await doors.rows('SELECT body FROM events WHERE id = $1', [before.eventId])).toEqual([
    { body: Buffer.alloc(0) },
  ])
})

test('a check of all events ends with the first batch that is not full, although events keep arriving', async () => {
  const [service] = services
  const next = { what: 'events', notifications: false, after: '' }
  const { after, counts } = await service!.client.check({ eventIds: [], next })
  expect(counts!.pending + counts!.delivered).toBeGreaterThan(0)
  expect(after).toBeUndefined()
})
