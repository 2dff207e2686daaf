import { Event, LEADS_STREAM } from '@leadwire/contracts'
import { connectNats, limitRepeats, newTraceparent } from '@leadwire/service-kit'
import { eventually, startNats, type TestNats } from '@leadwire/test-kit'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import {
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../leads-service.fixture'
import { checkOutbox } from './check-outbox'
import { createHasStreamRoom } from './has-stream-room'
import { createPublisher, type Publish } from './publish-events'

let service: RunningLeadsService
let nats: TestNats
let connection: NatsConnection

beforeAll(async () => {
  service = await startLeadsService()
  nats = await startNats()
  connection = await connectNats({
    config: { NATS_URL: nats.url },
    name: 'spec',
    logger: service.logger,
    lifecycle: service.lifecycle,
  })
})
afterAll(async () => {
  await service.stop()
  await nats.stop()
})

const create = async (count: number) => {
  const { accountId } = await newAccount(service)
  return readOutcomes(
    await service.leads.createLeads({ leads: Array.from({ length: count }, () => newItem(accountId)) }),
  )
}

/** Makes all events due, and checks them as if webhook-service had stored none of them. */
const checkAll = async (publish: Publish, hasStreamRoom = createHasStreamRoom(connection)) => {
  await service.db.query({ text: 'UPDATE outbox SET next_check_at = clock_timestamp()' })
  await checkOutbox({
    database: service.db,
    hasStreamRoom,
    publish,
    logger: service.logger,
    findStoredEvents: async () => ({ eventIds: [], refused: [] }),
    failures: limitRepeats(service.logger),
  })
}

const streamed = async () => {
  const manager = await jetstreamManager(connection)
  const { state } = await manager.streams.info(LEADS_STREAM.name)
  const references: string[] = []
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const message = await manager.streams.getMessage(LEADS_STREAM.name, { seq })
    references.push(Event.decode(message!.data).leadReference)
  }
  return references
}

test('what was committed is published from memory, once', async () => {
  const leads = await create(5)
  const { publishFromMemory, finish } = createPublisher(connection, service)
  publishFromMemory(service.committed.slice(-5))
  await finish()
  const references = leads.map(({ reference }) => reference).toSorted()
  // The stream stores the messages a moment after NATS has received them.
  await eventually(async () => expect((await streamed()).toSorted()).toEqual(references))
})

test('what the outbox holds of an event is, byte for byte, what went out from memory', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const key = { tokenId, key: 'k', fingerprint: Buffer.alloc(32) }
  const items = [
    newItem(accountId, { traceparent: newTraceparent() }),
    newItem(accountId, { idempotency: key }),
  ]
  const [alone] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  const together = readOutcomes(await service.leads.createLeads({ leads: items }))
  const payloads = new Map<string, Buffer>()
  const keep: Publish = async ({ eventId, payload }) => void payloads.set(eventId, Buffer.from(payload))
  await checkAll(keep, async () => true)
  const sent = service.committed.filter((event) => event.accountId === accountId)
  expect(sent.map(({ eventId }) => payloads.get(eventId))).toEqual(
    sent.map(({ payload }) => Buffer.from(payload)),
  )
  expect(sent.map(({ leadReference }) => leadReference)).toEqual(
    [alone, ...together].map(({ reference }) => reference),
  )
})

test('an event that could not be published from memory is published by a check when the broker is back', async () => {
  await nats.kill()
  const [lead] = await create(1)
  const { publish, publishFromMemory, finish } = createPublisher(connection, service)
  publishFromMemory(service.committed.slice(-1))
  await finish()
  await checkAll(publish)
  await nats.restart()
  await eventually(async () => {
    await checkAll(publish)
    expect(await streamed()).toContain(lead.reference)
  })
})
