import { CHANGE_CONSUMER, LEADS_STREAM } from '@leadwire/contracts'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { jetstreamManager } from '@nats-io/jetstream'
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

const arrivals = () => receiver.requests.map(({ url, body }) => [url.split('/').at(-1), body.toString()])

const held = async (...events: { eventId: string }[]) => {
  const eventIds = events.map(({ eventId }) => eventId)
  await eventually(async () =>
    expect((await service.client.findHeldEvents({ eventIds })).eventIds.toSorted()).toEqual(
      eventIds.toSorted(),
    ),
  )
}

test('an event goes to the endpoints that subscribe to its kind, with the body as it came', async () => {
  await service.endpoint(1, `${receiver.url}/created`)
  await service.endpoint(1, `${receiver.url}/updated`, { kinds: ['lead.updated'] })
  await service.endpoint(1, `${receiver.url}/both`, { kinds: ['lead.created', 'lead.updated'] })
  const created = doors.event(1)
  const updated = doors.change(1)
  await doors.publish(created, updated)
  await eventually(() => expect(receiver.requests).toHaveLength(4))
  const body = updated.body.toString()
  const data = expect.stringContaining(`{"data":{"id":7,"reference":"${created.lead!.reference}"`)
  expect(arrivals().toSorted()).toEqual([
    ['both', data],
    ['both', body],
    ['created', data],
    ['updated', body],
  ])
  const { deliveries } = await service.client.listDeliveries({ accountId: 1, page: 1 })
  expect(deliveries.map(({ event }) => event).toSorted()).toEqual([
    ...['lead.created', 'lead.created', 'lead.updated', 'lead.updated'],
  ])
})

test('an event that nobody subscribes to is held, without its body and without deliveries', async () => {
  await service.endpoint(2, receiver.url)
  const unheard = doors.change(2)
  await doors.publish(unheard)
  await held(unheard)
  expect(await doors.rows('SELECT kind, body FROM events WHERE account_id = 2')).toEqual([
    { kind: 'lead.updated', body: Buffer.alloc(0) },
  ])
  expect(await service.client.listDeliveries({ accountId: 2, page: 1 })).toMatchObject({ total: 0 })
  await doors.publish(unheard)
  const lead = doors.event(2)
  await doors.publish(lead)
  await held(lead)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
})

test('an endpoint that subscribes later is told of what happens from then on', async () => {
  const { id } = await service.endpoint(3, `${receiver.url}/later`)
  const [before, after] = [doors.change(3), doors.change(3)]
  await doors.publish(before)
  await held(before)
  await service.client.updateWebhookEndpoint({
    ...{ accountId: 3, endpointId: id },
    events: { kinds: ['lead.updated'] },
  })
  await doors.publish(after)
  await eventually(() =>
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([after.eventId]),
  )
})

test('an endpoint is told of all leads, of live ones or of test ones', async () => {
  for (const leads of ['all', 'live', 'test'])
    await service.endpoint(6, `${receiver.url}/${leads}`, { kinds: ['lead.created', 'lead.updated'], leads })
  const tested = doors.event(6)
  const live = doors.change(6)
  await doors.publish({ ...tested, lead: { ...tested.lead!, test: true } }, live)
  await eventually(() => expect(receiver.requests).toHaveLength(4))
  const told = receiver.requests.map(({ url, headers }) => [url.split('/').at(-1), headers['webhook-id']])
  expect(told.toSorted()).toEqual(
    [
      ['all', tested.eventId],
      ['test', tested.eventId],
      ['all', live.eventId],
      ['live', live.eventId],
    ].toSorted(),
  )
})

test('a change that is none is refused, and nothing waits for it', async () => {
  await service.endpoint(4, receiver.url, { kinds: ['lead.updated'] })
  const broken = [
    { kind: 'lead.eaten' },
    { body: Buffer.alloc(0) },
    { leadReference: 'none' },
    { accountKey: 'two\r\nlines' },
    { eventId: 'none' },
    { accountId: 0 },
  ]
  await doors.publish(...broken.map((over) => doors.change(4, over)), doors.change(4))
  await eventually(async () =>
    expect(await service.metric('leadwire_webhook_events_refused_total')).toBe(broken.length),
  )
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const manager = await jetstreamManager(doors.connection)
  await eventually(async () => {
    const info = await manager.consumers.info(LEADS_STREAM.name, CHANGE_CONSUMER)
    expect([info.num_pending, info.num_ack_pending]).toEqual([0, 0])
  })
})

test('which leads are told of may be all, live or test', async () => {
  const endpoint = { accountId: 5, url: receiver.url, enabled: true, leads: 'dead' }
  await expect(service.client.createWebhookEndpoint(endpoint)).rejects.toMatchObject({
    faults: { leads: ['must be one of all, live, test'] },
  })
})

test.each([
  [[], 'none'],
  [['lead.eaten'], 'an unknown one'],
  [['lead.created', 'lead.created'], 'one twice'],
])('kinds are refused: %j (%s)', async (kinds) => {
  const url = receiver.url
  const fault = { faults: { events: [expect.stringContaining('must be one or more of lead.created')] } }
  await expect(
    service.client.createWebhookEndpoint({ accountId: 5, url, enabled: true, events: { kinds } }),
  ).rejects.toMatchObject(fault)
  const { id } = await service.endpoint(5, url)
  await expect(
    service.client.updateWebhookEndpoint({ accountId: 5, endpointId: id, events: { kinds } }),
  ).rejects.toMatchObject(fault)
})
