import { randomUUID } from 'node:crypto'
import { LEADS_STREAM, LeadCreated, messageIdOf, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { createLogger } from '@leadwire/service-kit'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { openDoors, startService } from '../service.fixture'

const NOW = '2026-01-02T03:04:05.123456Z'
const times = { createdAt: NOW, updatedAt: NOW }

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver
const refusals: { event_id: string }[] = []

const logger = Object.assign(createLogger({ service: 'webhook-service', level: 'silent' }), {
  error: (fields: { event_id: string }) => void refusals.push(fields),
})

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors, { logger })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})

const item = {
  ...times,
  id: 1,
  name: 'Window',
  price: 100,
  format: 'range',
  status: 'active',
  options: '{"1":2,"a":"b"}',
}
const eventWith = (change: { lead?: object; customer?: object; item?: object; image?: object }) => {
  const event = doors.event(1)
  const { lead } = event
  return LeadCreated.fromPartial({
    ...event,
    lead: {
      ...lead!,
      ...change.lead,
      customer: { ...lead!.customer!, ...change.customer },
      quotes: [
        {
          ...times,
          id: 1,
          items: [
            { ...item, ...change.item, ...(change.image && { image: { ...times, id: 1, ...change.image } }) },
          ],
        },
      ],
    },
  })
}

test('an event whose lead has a broken part is refused, counted, and logged once', async () => {
  await service.endpoint(1, receiver.url)
  const broken = [
    ...['', 'no json', '[]', 'null', '"text"', '{"a":{}}', '{"a":true}', '{"a":1}}', '{"a":NaN}'].map(
      (options) => ({ item: { options } }),
    ),
    ...[Number.NaN, Number.POSITIVE_INFINITY].flatMap((value) => [
      { item: { margin: value } },
      { item: { maximum: value } },
    ]),
    ...['', 'yesterday', '2026-02-30T03:04:05.123456Z', '2026-01-02T03:04:05Z'].flatMap((at) => [
      { lead: { createdAt: at } },
      { customer: { createdAt: at } },
      { item: { updatedAt: at } },
      { image: { createdAt: at } },
    ]),
    { lead: { id: 0 } },
    { item: { id: 0 } },
  ].map(eventWith)
  await doors.publish(...broken)
  await doors.publish(
    ...broken,
    eventWith({}),
    eventWith({ image: {} }),
    eventWith({ item: { options: '{}' } }),
  )
  await eventually(() => expect(receiver.requests).toHaveLength(3))
  await eventually(async () =>
    expect(await service.metric('leadwire_webhook_events_refused_total')).toBe(2 * broken.length),
  )
  for (const { body } of receiver.requests) expect(() => JSON.parse(body.toString())).not.toThrow()
  expect(refusals).toHaveLength(broken.length)
  const eventIds = broken.map(({ eventId }) => eventId)
  const { refused, eventIds: held } = await service.client.findHeldEvents({ eventIds })
  expect(held).toEqual([])
  expect(refused.map(({ eventId }) => eventId).toSorted()).toEqual(eventIds.toSorted())
  for (const { reason, sequence } of refused) {
    expect(reason).toMatch(/^its lead has a broken part: /)
    expect(sequence).toBeGreaterThan(broken.length)
  }
  const manager = await jetstreamManager(doors.connection)
  await eventually(async () => {
    const info = await manager.consumers.info(LEADS_STREAM.name, WEBHOOK_CONSUMER)
    expect([info.num_pending, info.num_ack_pending]).toEqual([0, 0])
  })
})

test('a message that can not be read is refused under the id that it was published under', async () => {
  const eventId = randomUUID()
  const stream = jetstream(doors.connection)
  const { seq } = await stream.publish(LEADS_STREAM.subjects.leadCreated, 'no event', {
    msgID: messageIdOf(eventId, 7),
  })
  await eventually(async () =>
    expect(await service.client.findHeldEvents({ eventIds: [eventId] })).toEqual({
      eventIds: [],
      refused: [{ eventId, sequence: seq, reason: expect.stringMatching(/^it is no event: /) }],
    }),
  )
})
