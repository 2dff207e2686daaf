import { createHmac } from 'node:crypto'
import { LEADS_STREAM, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { cutConnections, eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors)
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})
beforeEach(() => receiver.clear())

test('an event goes to every endpoint of its account, signed with the secret of each, and to no other', async () => {
  const first = await service.endpoint(1, `${receiver.url}/first`)
  const second = await service.endpoint(1, `${receiver.url}/second`, { secret: 'a secret of our own' })
  await service.endpoint(2, `${receiver.url}/stranger`)
  const event = doors.event(1)
  await doors.publish(event)
  await eventually(() => expect(receiver.requests).toHaveLength(2))
  const bySecret = { '/first': first.secret, '/second': second.secret }
  for (const [path, secret] of Object.entries(bySecret)) {
    const request = receiver.requests.find(({ url }) => url.endsWith(path))!
    expect(request.headers['x-service-signature']).toBe(
      createHmac('sha1', secret).update(request.body).digest('hex'),
    )
    expect(request.headers['x-service-account-key']).toBe('key-of-1')
    expect(request.headers['webhook-id']).toBe(event.eventId)
    expect(request.body).toEqual(Buffer.from(event.body))
  }
})

test('an event that comes again changes nothing', async () => {
  await service.endpoint(3, receiver.url)
  const event = doors.event(3)
  await doors.publish(event, event, event)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await doors.publish(event)
  // Events are taken in their order: when the next one has arrived, the one that came again was seen.
  const next = doors.event(3)
  await doors.publish(next)
  await eventually(() =>
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([
      event.eventId,
      next.eventId,
    ]),
  )
  expect(await service.client.listDeliveries({ accountId: 3, page: 1 })).toMatchObject({ total: 2 })
  expect(
    await service.client.findStoredEvents({ eventIds: [event.eventId, doors.event(3).eventId, 'nonsense'] }),
  ).toEqual({ eventIds: [event.eventId], refused: [] })
})

test('what is no event, or can never be stored, is put aside and nothing waits for it', async () => {
  await service.endpoint(4, receiver.url)
  const js = jetstream(doors.connection)
  await js.publish(LEADS_STREAM.subjects.events, 'no protobuf')
  await js.publish(LEADS_STREAM.subjects.events, new Uint8Array())
  await doors.publish({ ...doors.event(4), eventId: 'no uuid' }, doors.event(4, { leadReference: '' }))
  await doors.publish({ ...doors.event(4), accountKey: 'two\r\nlines' }, doors.event(4))
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const manager = await jetstreamManager(doors.connection)
  await eventually(async () => {
    const info = await manager.consumers.info(LEADS_STREAM.name, WEBHOOK_CONSUMER)
    expect([info.num_pending, info.num_ack_pending]).toEqual([0, 0])
  })
})

test('an event is stored with its whole fan-out or not at all', async () => {
  await service.endpoint(5, receiver.url)
  await service.endpoint(5, receiver.url)
  await doors.rows(
    `ALTER TABLE deliveries ADD CONSTRAINT spoilt CHECK (account_id <> 5 OR endpoint_id % 2 = 0)`,
  )
  const [event, other] = [doors.event(5), doors.event(1)]
  await doors.publish(event, other)
  await eventually(async () =>
    expect(await service.client.findStoredEvents({ eventIds: [event.eventId, other.eventId] })).toEqual({
      eventIds: [other.eventId],
      refused: [
        { eventId: event.eventId, sequence: expect.any(Number), reason: expect.stringContaining('spoilt') },
      ],
    }),
  )
  expect(await service.client.listDeliveries({ accountId: 5, page: 1 })).toMatchObject({ total: 0 })
  await doors.rows('ALTER TABLE deliveries DROP CONSTRAINT spoilt')
})

test('connections that are cut lose nothing', async () => {
  await service.endpoint(6, receiver.url)
  const events = Array.from({ length: 200 }, () => doors.event(6))
  for (let cut = 0; cut < 4; cut += 1) {
    await doors.publish(...events.slice(cut * 50, cut * 50 + 50))
    await cutConnections(doors.database)
  }
  await eventually(() => {
    const arrived = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']))
    expect(events.filter(({ eventId }) => !arrived.has(eventId))).toEqual([])
  })
})

test('events come again after NATS was killed, lost everything, or lost the stream', async () => {
  await service.endpoint(7, receiver.url)
  const arrives = async (count: number) => {
    await doors.publish(doors.event(7))
    await eventually(() => expect(receiver.requests).toHaveLength(count))
  }
  await doors.nats.kill()
  await doors.nats.restart()
  await arrives(1)
  await doors.nats.kill()
  await doors.nats.restart({ empty: true })
  await arrives(2)
  const manager = await jetstreamManager(doors.connection)
  await manager.streams.delete(LEADS_STREAM.name)
  await arrives(3)
  await manager.consumers.delete(LEADS_STREAM.name, WEBHOOK_CONSUMER)
  await arrives(4)
})
