import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
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

const arrivals = () => receiver.requests.map(({ url, body }) => [url.split('/').at(-1), body.toString()])

const held = async (...events: { eventId: string }[]) => {
  const eventIds = events.map(({ eventId }) => eventId)
  await eventually(async () =>
    expect((await service.client.findStoredEvents({ eventIds })).eventIds.toSorted()).toEqual(
      eventIds.toSorted(),
    ),
  )
}

test('an event is sent unchanged to the endpoints that subscribe to its type', async () => {
  await service.endpoint(1, `${receiver.url}/created`)
  await service.endpoint(1, `${receiver.url}/updated`, { types: ['lead.updated'] })
  await service.endpoint(1, `${receiver.url}/both`, { types: ['lead.created', 'lead.updated'] })
  const created = doors.event(1)
  const updated = doors.event(1, { type: 'lead.updated' })
  await doors.publish(created, updated)
  await eventually(() => expect(receiver.requests).toHaveLength(4))
  const [data, body] = [created, updated].map((event) => Buffer.from(event.body).toString())
  expect(arrivals().toSorted()).toEqual([
    ['both', data],
    ['both', body],
    ['created', data],
    ['updated', body],
  ])
  const { deliveries } = await service.client.listDeliveries({ accountId: 1, page: 1 })
  expect(deliveries.map(({ event }) => event).toSorted()).toEqual([
    'lead.created',
    'lead.created',
    'lead.updated',
    'lead.updated',
  ])
})

test('an event without subscribers is stored with its body and without deliveries', async () => {
  await service.endpoint(2, receiver.url)
  const unheard = doors.event(2, { type: 'lead.updated' })
  await doors.publish(unheard)
  await held(unheard)
  expect(await doors.rows('SELECT type, body FROM events WHERE account_id = 2')).toEqual([
    { type: 'lead.updated', body: Buffer.from(unheard.body) },
  ])
  expect(await service.client.listDeliveries({ accountId: 2, page: 1 })).toMatchObject({ total: 0 })
  await doors.publish(unheard)
  const lead = doors.event(2)
  await doors.publish(lead)
  await held(lead)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
})

test('an endpoint that subscribes later gets only later events', async () => {
  const { id } = await service.endpoint(3, `${receiver.url}/later`)
  const [before, after] = [doors.event(3, { type: 'lead.updated' }), doors.event(3, { type: 'lead.updated' })]
  await doors.publish(before)
  await held(before)
  await service.client.updateWebhookEndpoint({
    accountId: 3,
    endpointId: id,
    events: { types: ['lead.updated'] },
  })
  await doors.publish(after)
  await eventually(() =>
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([after.eventId]),
  )
})

test('an endpoint gets events of all leads, of live leads or of test leads', async () => {
  for (const leads of ['all', 'live', 'test'])
    await service.endpoint(6, `${receiver.url}/${leads}`, { types: ['lead.created', 'lead.updated'], leads })
  const tested = doors.event(6)
  const live = doors.event(6, { type: 'lead.updated' })
  await doors.publish({ ...tested, test: true }, live)
  await eventually(() => expect(receiver.requests).toHaveLength(4))
  const received = receiver.requests.map(({ url, headers }) => [url.split('/').at(-1), headers['webhook-id']])
  expect(received.toSorted()).toEqual(
    [
      ['all', tested.eventId],
      ['test', tested.eventId],
      ['all', live.eventId],
      ['live', live.eventId],
    ].toSorted(),
  )
})
