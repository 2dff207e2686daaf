import { eventBody } from '@leadwire/contracts'
import { eventually, type Receiver, startNats, startReceiver, type TestNats } from '@leadwire/test-kit'
import { openDoors, startService } from '../../service.fixture'

const MIB = 2 ** 20

let nats: TestNats
let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  nats = await startNats()
})
afterAll(() => nats.stop())
beforeEach(async () => {
  doors = await openDoors({ nats })
  receiver = await startReceiver()
  service = await startService(doors)
})
afterEach(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})

const largeEvent = (accountId: number) =>
  doors.event(accountId, { body: eventBody('lead.created', JSON.stringify({ note: 'x'.repeat(MIB) })) })
const bytesInFlight = async () => (await service.metric('leadwire_webhook_large_bodies_bytes'))!

test('forty attempts at hanging endpoints share the body of their event', async () => {
  receiver.answerWith('hang')
  for (let count = 0; count < 40; count += 1) await service.endpoint(1, receiver.url)
  await doors.publish(largeEvent(1))
  await eventually(() => expect(receiver.requests).toHaveLength(40))
  expect(await bytesInFlight()).toBeLessThan(1.1 * MIB)
})

test('large bodies in flight are limited, do not delay small bodies, and finally all arrive', async () => {
  let open = false
  receiver.answerWith(({ url }) => (open || url.endsWith('/small') ? { status: 200 } : 'hang'))
  for (let count = 0; count < 4; count += 1) await service.endpoint(1, receiver.url)
  await service.endpoint(2, `${receiver.url}/small`)
  const events = Array.from({ length: 40 }, () => largeEvent(1))
  await doors.publish(...events)
  const hanging = () =>
    new Set(
      receiver.requests
        .filter(({ url }) => !url.endsWith('/small'))
        .map(({ headers }) => headers['webhook-id']),
    ).size
  await eventually(() => expect(hanging()).toBeGreaterThanOrEqual(16))
  for (let count = 1; count <= 5; count += 1) {
    await doors.publish(doors.event(2))
    await eventually(() =>
      expect(receiver.requests.filter(({ url }) => url.endsWith('/small'))).toHaveLength(count),
    )
    expect(await bytesInFlight()).toBeLessThan(18 * MIB)
  }
  open = true
  // Locks the deliveries in the order of their ids, as the service does. Otherwise the two could deadlock.
  await doors.rows(`
    WITH pending AS MATERIALIZED (
      SELECT id FROM deliveries WHERE status = 'pending' ORDER BY id FOR UPDATE
    )
    UPDATE deliveries d SET next_attempt_at = now() FROM pending WHERE d.id = pending.id`)
  await eventually(async () => {
    expect(await bytesInFlight()).toBeLessThan(18 * MIB)
    const { total } = await service.client.listDeliveries({ accountId: 1, status: 'delivered', page: 1 })
    expect(
      total + (await service.client.listDeliveries({ accountId: 1, status: 'pending', page: 1 })).total,
    ).toBe(160)
    expect(hanging()).toBe(40)
  })
})
