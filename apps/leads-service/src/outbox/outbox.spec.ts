import { Event, LEADS_STREAM } from '@leadwire/contracts'
import { connectNats, newTraceparent } from '@leadwire/service-kit'
import { eventually, startNats, type TestNats } from '@leadwire/test-kit'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import {
  newAccount,
  newItem,
  outcomesOf,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'
import { createPublisher, type Publish } from './publish'
import { createPublishFromMemory } from './publish-from-memory'
import { relayOnce } from './relay'

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
  return outcomesOf(
    await service.leads.createLeads({ leads: Array.from({ length: count }, () => newItem(accountId)) }),
  )
}

// As the sweep does with new leads whose process died before it published them.
const leaveToRelay = () =>
  service.db.query({ text: 'UPDATE outbox SET published_at = NULL WHERE sequence IS NULL' })

const relay = () =>
  relayOnce({ database: service.db, publish: createPublisher(connection).publish, logger: service.logger })

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

test('committed events reach the stream once, though two relays share the work and one publishes again', async () => {
  const leads = await create(20)
  await leaveToRelay()
  await Promise.all([relay(), relay()])
  await service.db.query({ text: 'UPDATE outbox SET published_at = NULL, sequence = NULL' })
  await relay()
  expect((await streamed()).toSorted()).toEqual(leads.map(({ reference }) => reference).toSorted())
})

test('what the outbox holds of an event is, byte for byte, what went out from memory', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const key = { tokenId, key: 'k', fingerprint: Buffer.alloc(32) }
  const items = [
    newItem(accountId, { traceparent: newTraceparent() }),
    newItem(accountId, { idempotency: key }),
  ]
  const [alone] = outcomesOf(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  const together = outcomesOf(await service.leads.createLeads({ leads: items }))
  const payloads: Buffer[] = []
  const publish: Publish = async ({ payload }) => payloads.push(Buffer.from(payload))
  await leaveToRelay()
  await relayOnce({ database: service.db, publish, logger: service.logger })
  const own = payloads.filter((payload) => Event.decode(payload).accountId === accountId)
  const sent = service.committed.filter((event) => event.accountId === accountId)
  expect(own).toEqual(sent.map(({ payload }) => Buffer.from(payload)))
  expect(own.map((payload) => Event.decode(payload).leadReference)).toEqual(
    [alone, ...together].map(({ reference }) => reference),
  )
})

test('what was committed is published from memory, and the relay leaves it alone', async () => {
  const leads = await create(5)
  const references = leads.map(({ reference }) => reference)
  const events = service.committed.slice(-5)
  const publish = createPublisher(connection).publishUnconfirmed
  const { enqueue, finished } = createPublishFromMemory({ ...service, publish })
  enqueue(events)
  const again: string[] = []
  await relayOnce({
    ...{ database: service.db, logger: service.logger },
    publish: async ({ eventId }) => again.push(eventId),
  })
  expect(again).toEqual([])
  await finished()
  expect((await streamed()).filter((reference) => references.includes(reference))).toHaveLength(5)
})

test('while the broker is unavailable events wait, and nothing is marked', async () => {
  await nats.kill()
  const [lead] = await create(1)
  const fromMemory = createPublishFromMemory({
    ...{ logger: service.logger, publish: createPublisher(connection).publishUnconfirmed },
  })
  fromMemory.enqueue(service.committed.slice(-1))
  await fromMemory.finished()
  await leaveToRelay()
  await relay()
  const waiting = await service.db.query({ text: 'SELECT event_id FROM outbox WHERE published_at IS NULL' })
  expect(waiting.length).toBeGreaterThanOrEqual(1)
  await nats.restart()
  await eventually(async () => {
    await relay()
    expect(await streamed()).toContain(lead.reference)
  })
})
