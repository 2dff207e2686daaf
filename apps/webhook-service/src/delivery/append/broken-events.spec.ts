import { randomUUID } from 'node:crypto'
import { buildMessageId, LEADS_STREAM, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { createLogger } from '@leadwire/service-kit'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { openDoors, startService } from '../../service.fixture'

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

test('an invalid event becomes a dead letter, is counted and logged once, and delays no other event', async () => {
  await service.endpoint(1, receiver.url)
  const broken = [
    { accountKey: 'two\r\nlines' },
    { type: 'lead.eaten' },
    { leadReference: 'none' },
    { leadVersion: 0 },
    { body: new Uint8Array() },
  ].map((over) => doors.event(1, over))
  // The outbox never publishes such messages: one has no valid id, and the other has no account.
  const strange = [doors.event(1, { eventId: 'none' }), doors.event(0)]
  const refusedTotal = (count: number) =>
    eventually(async () => expect(await service.metric('leadwire_webhook_events_refused_total')).toBe(count))
  await doors.publish(...broken, ...strange)
  await refusedTotal(broken.length + strange.length)
  await doors.publish(...broken, doors.event(1))
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await refusedTotal(2 * broken.length + strange.length)
  expect(refusals).toHaveLength(broken.length + strange.length)
  const eventIds = broken.map(({ eventId }) => eventId)
  const { refused, eventIds: held } = await service.client.findStoredEvents({ eventIds })
  expect(held).toEqual([])
  expect(refused.map(({ eventId, reason }) => [eventId, reason]).toSorted()).toEqual(
    [
      [eventIds[0], 'the account key is not a valid header value'],
      [eventIds[1], 'the event type is unknown'],
      [eventIds[2], 'the lead reference is missing or invalid'],
      [eventIds[3], 'the lead version is missing'],
      [eventIds[4], 'the body is missing'],
    ].toSorted(),
  )
  for (const { sequence } of refused) expect(sequence).toBeGreaterThan(broken.length)
  const manager = await jetstreamManager(doors.connection)
  await eventually(async () => {
    const info = await manager.consumers.info(LEADS_STREAM.name, WEBHOOK_CONSUMER)
    expect([info.num_pending, info.num_ack_pending]).toEqual([0, 0])
  })
})

test('an unreadable message becomes a dead letter under the id with which it was published', async () => {
  const eventId = randomUUID()
  const stream = jetstream(doors.connection)
  const { seq } = await stream.publish(LEADS_STREAM.subjects.events, 'no event', {
    msgID: buildMessageId(eventId, 7),
  })
  await eventually(async () =>
    expect(await service.client.findStoredEvents({ eventIds: [eventId] })).toEqual({
      eventIds: [],
      refused: [
        { eventId, sequence: seq, reason: expect.stringMatching(/^the message cannot be decoded: /) },
      ],
    }),
  )
  await service.client.deleteDeadLetters({ eventIds: [eventId] })
  expect(await service.client.findStoredEvents({ eventIds: [eventId] })).toEqual({
    eventIds: [],
    refused: [],
  })
})
