import { createHmac } from 'node:crypto'
import { LEADS_STREAM, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { cutConnections, eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { openDoors, startService } from '../../service.fixture'

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

test('an event is sent to every endpoint of its account and to no other, signed with the secret of each', async () => {
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

test('an event that arrives again changes nothing', async () => {
  await service.endpoint(3, receiver.url)
  const event = doors.event(3)
  await doors.publish(event, event, event)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await doors.publish(event)
  // Messages are processed in order. So when the next event has arrived, the repeated message has been
  // processed.
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

test('messages without a valid event, or with one that cannot be stored, delay no other event', async () => {
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

test('an event gets all of its deliveries or none, and the fan-out is retried until it succeeds', async () => {
  await service.endpoint(5, receiver.url)
  await service.endpoint(5, receiver.url)
  await doors.rows(
    `ALTER TABLE deliveries ADD CONSTRAINT spoilt CHECK (account_id <> 5 OR endpoint_id % 2 = 0)`,
  )
  const [event, other] = [doors.event(5), doors.event(1)]
  const eventIds = [event.eventId, other.eventId]
  await doors.publish(event, other)
  await eventually(async () => {
    const { eventIds: stored } = await service.client.findStoredEvents({ eventIds })
    expect(stored.toSorted()).toEqual(eventIds.toSorted())
  })
  await eventually(async () => {
    const { deliveries } = await service.client.listDeliveries({ accountId: 1, page: 1 })
    expect(deliveries.some(({ eventId }) => eventId === other.eventId)).toBe(true)
  })
  expect(await service.client.listDeliveries({ accountId: 5, page: 1 })).toMatchObject({ total: 0 })
  await doors.rows('ALTER TABLE deliveries DROP CONSTRAINT spoilt')
  await eventually(async () =>
    expect(await service.client.listDeliveries({ accountId: 5, page: 1 })).toMatchObject({ total: 2 }),
  )
})

test('no event is lost when connections are cut', async () => {
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

test('events are delivered after NATS was killed, lost all data, or lost the stream', async () => {
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
