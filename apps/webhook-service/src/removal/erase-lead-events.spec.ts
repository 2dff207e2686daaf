import { buildMessageId, Event, LEADS_STREAM } from '@leadwire/contracts'
import { eventually, gate, type Receiver, startReceiver } from '@leadwire/test-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors, { WEBHOOK_TIMEOUT: 60_000 })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})

test('an attempt in flight is reported until it has ended, and the event of the erasure is kept', async () => {
  await service.endpoint(1, receiver.url)
  const mayRespond = gate()
  receiver.answerWith({ status: 500, after: mayRespond.opened })
  const created = doors.event(1)
  const { leadReference } = created
  await doors.publish(created)
  await eventually(() => expect(receiver.requests).toHaveLength(1))

  const request = { accountId: 1, leadReference, eventIds: [created.eventId], tombstone: false }
  const erase = () => service.client.eraseLeadEvents(request)
  expect(await erase()).toMatchObject({ webhookEvents: 1, cancelledDeliveries: 1, attemptsInFlight: true })
  await doors.publish(doors.event(1, { leadReference, type: 'lead.erased', leadVersion: 2 }))
  await eventually(async () => expect(await doors.rows('SELECT FROM events')).toHaveLength(2))
  mayRespond.open()
  await eventually(async () => expect(await service.metric('leadwire_webhook_attempts_total')).toBe(1))
  expect(await erase()).toMatchObject({ attemptsInFlight: true })
  // Shortens the time until the longest attempt would have ended.
  await doors.rows("UPDATE deliveries SET claimed_until = now() + interval '1 second'")
  await eventually(async () => expect(await erase()).toMatchObject({ attemptsInFlight: false }))
  expect(receiver.requests).toHaveLength(1)
  const rows = await doors.rows(
    'SELECT type, number::int, body = $1 AS empty, (SELECT attempt_count FROM deliveries WHERE event_id = e.id) AS attempts FROM events e ORDER BY e.number',
    [Buffer.alloc(0)],
  )
  expect(rows).toEqual([
    { type: 'lead.created', number: 1, empty: true, attempts: 0 },
    { type: 'lead.erased', number: 2, empty: false, attempts: null },
  ])
})

test('a claim that ends in an hour is not an attempt in flight, because PostgreSQL’s clock has gone back', async () => {
  receiver.answerWith({ status: 500 })
  const created = doors.event(1)
  const { leadReference } = created
  await doors.publish(created)
  const ofLead = (text: string) => doors.rows(`${text} WHERE lead_reference = $1`, [leadReference])
  const unclaimed = [{ attempt_count: 1, claim: null }]
  await eventually(async () =>
    expect(await ofLead('SELECT attempt_count, claim FROM deliveries')).toEqual(unclaimed),
  )
  await ofLead("UPDATE deliveries SET claim = 1, claimed_until = now() + interval '1 hour'")
  const request = { accountId: 1, leadReference, eventIds: [created.eventId], tombstone: false }
  expect(await service.client.eraseLeadEvents(request)).toMatchObject({ attemptsInFlight: false })
})

test('cancellations that the erasure has sent are kept', async () => {
  const created = doors.event(1)
  const { leadReference } = created
  const cancelled = doors.event(1, { leadReference, type: 'appointment.cancelled', leadVersion: 2 })
  await doors.publish(created)
  await doors.publish(cancelled)
  const request = {
    accountId: 1,
    leadReference,
    tombstone: false,
    eventIds: [created.eventId],
    keptEventIds: [cancelled.eventId],
  }
  const types = () =>
    doors.rows('SELECT type FROM events WHERE lead_reference = $1 AND erased_at IS NULL', [leadReference])
  await eventually(async () => expect(await types()).toHaveLength(2))
  expect(await service.client.eraseLeadEvents(request)).toMatchObject({ webhookEvents: 1 })
  expect(await types()).toEqual([{ type: 'appointment.cancelled' }])
})

test('an erasure returns every message of an event, and a later message is deleted from the stream', async () => {
  const created = doors.event(1)
  const { leadReference } = created
  const broken = doors.event(1, { leadReference, type: 'lead.eaten' })
  const late = doors.event(1, { leadReference })
  const publish = async (event: Event, repetition: number) => {
    const msgID = buildMessageId(event.eventId, repetition)
    const payload = Event.encode(event).finish()
    const { seq } = await jetstream(doors.connection).publish(LEADS_STREAM.subjects.events, payload, {
      msgID,
    })
    return { eventId: event.eventId, sequence: seq }
  }
  const { streams } = await jetstreamManager(doors.connection)
  const isInStream = async ({ sequence }: { sequence: number }) =>
    (await streams.getMessage(LEADS_STREAM.name, { seq: sequence }).catch(() => null)) !== null
  const known = async () => {
    const eventIds = [created, broken].map(({ eventId }) => eventId)
    const text = 'SELECT event_id FROM event_messages WHERE event_id = ANY ($1)'
    return doors.rows(text, [eventIds])
  }

  const messages = [
    await publish(created, 0),
    await publish(created, 1),
    await publish(broken, 0),
    await publish(broken, 1),
  ]
  await eventually(async () => expect(await known()).toHaveLength(3))
  const eventIds = [created, broken, late].map(({ eventId }) => eventId)
  const request = { accountId: 1, leadReference, eventIds, tombstone: true }
  const erased = await service.client.eraseLeadEvents(request)
  const bySequence = (one: { sequence: number }, other: { sequence: number }) => one.sequence - other.sequence
  const found = new Map(erased.messages.map((message) => [message.sequence, message]))
  expect([...found.values()].sort(bySequence)).toEqual(messages)

  const later = [await publish(created, 2), await publish(broken, 2), await publish(late, 0)]
  await eventually(async () =>
    expect(await Promise.all(later.map(isInStream))).toEqual([false, false, false]),
  )
  expect(await Promise.all(messages.map(isInStream))).toEqual(messages.map(() => true))
  expect(
    await doors.rows('SELECT FROM events WHERE lead_reference = $1 AND body <> $2', [
      leadReference,
      Buffer.alloc(0),
    ]),
  ).toEqual([])
})
