import { randomUUID } from 'node:crypto'
import {
  type DeadLetter,
  Event,
  LEADS_STREAM,
  LEADS_STREAM_CONFIG,
  messageIdOf,
  WEBHOOK_CONSUMER,
} from '@leadwire/contracts'
import { connectNats, ensureStream, type Round } from '@leadwire/service-kit'
import { eventually, startNats, type TestNats } from '@leadwire/test-kit'
import { AckPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import {
  newAccount,
  newItem,
  outcomesOf,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'
import { createDeleteMessage } from './delete-message'
import { createPublisher, type Publish } from './publish'
import { relayOnce } from './relay'
import { createFindPosition } from './stream-position'
import { sweepOnce } from './sweep'

let service: RunningLeadsService
let nats: TestNats
let connection: NatsConnection
let publish: Publish
/** What the consumer of this spec holds, and what it refused. */
let held: Set<string>
let refused: DeadLetter[]

beforeEach(async () => {
  service = await startLeadsService()
  nats = await startNats()
  const { logger, lifecycle } = service
  connection = await connectNats({ config: { NATS_URL: nats.url }, name: 'spec', logger, lifecycle })
  publish = createPublisher(connection).publish
  held = new Set()
  refused = []
})
afterEach(async () => {
  await service.stop()
  await nats.stop()
})

const manager = () => jetstreamManager(connection)

const create = async (count: number) => {
  const { accountId } = await newAccount(service)
  const leads = Array.from({ length: count }, () => newItem(accountId))
  for (let at = 0; at < count; at += 500)
    outcomesOf(await service.leads.createLeads({ leads: leads.slice(at, at + 500) }))
  await service.db.query({ text: 'UPDATE outbox SET published_at = NULL WHERE sequence IS NULL' })
}

/** Leads whose process ended before it published their events. */
const createUnpublished = async (count: number) => {
  const { accountId } = await newAccount(service)
  const leads = Array.from({ length: count }, () => newItem(accountId))
  outcomesOf(await service.leads.createLeads({ leads }))
}

const more = async (round: () => Promise<Round>) => {
  while ((await round()) === true);
}

const relay = () => more(() => relayOnce({ database: service.db, publish, logger: service.logger }))

// As if the two seconds after a publication had passed.
const sweep = async (seconds = 3) => {
  await service.db.query({
    text: `UPDATE outbox SET published_at = published_at - $1::int * interval '1 second'`,
    values: [seconds],
  })
  const findStoredEvents = async (eventIds: string[]) => ({
    eventIds: eventIds.filter((id) => held.has(id)),
    refused: refused.filter(({ eventId }) => eventIds.includes(eventId)),
  })
  const findPosition = createFindPosition(connection)
  await more(() =>
    sweepOnce({ database: service.db, findStoredEvents, findPosition, logger: service.logger }),
  )
}

const store = (message: JsMsg) => {
  held.add(Event.decode(message.data).eventId)
  message.ack()
}

const ensureConsumer = async () => {
  const { consumers, streams } = await manager()
  await streams.info(LEADS_STREAM.name).catch(async () => ensureStream(await manager(), LEADS_STREAM_CONFIG))
  await consumers.add(LEADS_STREAM.name, {
    durable_name: WEBHOOK_CONSUMER,
    filter_subject: LEADS_STREAM.subjects.events,
    ack_policy: AckPolicy.Explicit,
  })
}

/** Takes all that the stream has for webhook-service, and first makes what is missing, as it does. */
const consume = async (take: (message: JsMsg) => void = store) => {
  await ensureConsumer()
  const consumer = await jetstream(connection).consumers.get(LEADS_STREAM.name, WEBHOOK_CONSUMER)
  for (
    let info = await consumer.info();
    info.num_pending + info.num_ack_pending > 0;
    info = await consumer.info()
  ) {
    for await (const message of await consumer.fetch({ max_messages: info.num_pending, expires: 1000 }))
      take(message)
    await connection.flush()
  }
}

const waiting = async () =>
  (
    await service.db.query<{ event_id: string }>({ text: 'SELECT event_id FROM outbox ORDER BY created_at' })
  ).map(({ event_id }) => event_id)

const state = async () => (await (await manager()).streams.info(LEADS_STREAM.name)).state

/** A few rounds of everything, which are as many seconds: all that was created is then held, and nothing waits. */
const heals = async (count: number, rounds = 3) => {
  for (let round = 0; round < rounds; round += 1) {
    await relay()
    await consume()
    await sweep()
  }
  expect(held.size).toBe(count)
  expect(await waiting()).toEqual([])
}

const LOSSES: [string, () => Promise<unknown>][] = [
  ['deleted', async () => (await manager()).streams.delete(LEADS_STREAM.name)],
  ['purged', async () => (await manager()).streams.purge(LEADS_STREAM.name)],
  [
    'purged of one subject',
    async () => (await manager()).streams.purge(LEADS_STREAM.name, { filter: LEADS_STREAM.subjects.events }),
  ],
  [
    'lost with its server',
    async () => {
      await nats.restart({ empty: true })
      await eventually(() => connection.rtt())
    },
  ],
]

test.each(
  LOSSES,
)('a stream that was %s is filled again, also inside the duplicate window', async (_, lose) => {
  await create(5)
  await relay()
  await consume()
  await create(7)
  await relay()
  await lose()
  await create(3)
  await heals(15)
})

test('new leads that their process did not publish come as soon as the consumer has nothing left to deliver', async () => {
  await ensureConsumer()
  await createUnpublished(3)
  await sweep()
  await heals(3, 1)
})

test('while the consumer is busy they come after eight seconds, and are in the stream once though they were published', async () => {
  await ensureConsumer()
  await createUnpublished(3)
  for (const event of service.committed) await publish(event)
  await sweep()
  expect(await service.db.query({ text: 'SELECT FROM outbox WHERE published_at IS NULL' })).toEqual([])
  await sweep(8)
  await relay()
  expect((await state()).messages).toBe(3)
  await heals(3, 1)
})

test('a stream that was made anew, and has grown past what was lost, is no reason to wait', async () => {
  await create(5)
  await relay()
  await (await manager()).streams.delete(LEADS_STREAM.name)
  await create(20)
  // The first finds that the stream is missing.
  await relay()
  await relay()
  expect((await state()).messages).toBe(20)
  await heals(25)
  expect((await state()).messages).toBe(25)
})

test('while the consumer is unavailable a backlog of thousands is in the stream once, and goes when it is back', async () => {
  await ensureConsumer()
  await create(3000)
  for (let round = 0; round < 3; round += 1) {
    await relay()
    await sweep()
  }
  expect((await state()).messages).toBe(3000)
  await heals(3000, 1)
  expect((await state()).messages).toBe(3000)
}, 60_000)

test('a full stream drops its oldest, which come again when there is room, and not before', async () => {
  await ensureConsumer()
  await create(1)
  await relay()
  const { bytes } = await state()
  await (await manager()).streams.update(LEADS_STREAM.name, { max_bytes: 40 * bytes })
  await create(99)
  for (let round = 0; round < 3; round += 1) {
    await relay()
    await sweep()
  }
  expect((await state()).last_seq).toBe(100)
  expect((await state()).messages).toBeLessThan(50)
  await heals(100, 5)
})

test('a message that was delivered and is not stored is waited for; one that was released comes again', async () => {
  await create(2)
  await relay()
  const [first] = await waiting()
  await ensureConsumer()
  const consumer = await jetstream(connection).consumers.get(LEADS_STREAM.name, WEBHOOK_CONSUMER)
  const [slow, other] = [(await consumer.next())!, (await consumer.next())!]
  store(other)
  await connection.flush()
  await sweep()
  await relay()
  expect(await waiting()).toEqual([first])
  expect((await state()).messages).toBe(2)
  slow.term()
  await connection.flush()
  await heals(2)
  expect((await state()).messages).toBe(3)
})

test('an event that was refused is set aside with the reason, until somebody has it published again', async () => {
  await create(2)
  await relay()
  const [broken] = await waiting()
  await consume((message) => {
    const { eventId } = Event.decode(message.data)
    if (eventId !== broken) return store(message)
    refused = [{ eventId, sequence: message.seq, reason: 'its lead has a broken part' }]
    message.term()
  })
  for (let round = 0; round < 3; round += 1) {
    await sweep()
    await relay()
  }
  expect((await state()).messages).toBe(2)
  expect(await service.db.query({ text: 'SELECT event_id, refusal FROM outbox' })).toEqual([
    { event_id: broken, refusal: 'its lead has a broken part' },
  ])
  await service.db.query({ text: 'UPDATE outbox SET published_at = NULL, refusal = NULL' })
  await heals(2)
})

test('the message of an event that was published again is deleted by the id of the event', async () => {
  await create(1)
  await relay()
  const [eventId] = await waiting()
  await (await manager()).streams.purge(LEADS_STREAM.name)
  await sweep()
  await relay()
  const { last_seq: sequence } = await state()
  const message = await (await manager()).streams.getMessage(LEADS_STREAM.name, { seq: sequence })
  expect(message!.header.get('Nats-Msg-Id')).toBe(messageIdOf(eventId!, 1))
  const deleteMessage = createDeleteMessage(() => connection)
  await deleteMessage({ eventId: randomUUID(), sequence })
  expect((await state()).messages).toBe(1)
  await deleteMessage({ eventId: eventId!, sequence })
  expect((await state()).messages).toBe(0)
})

test('while JetStream is unavailable held events are released, and nothing is published again', async () => {
  await create(2)
  await relay()
  const [first, second] = await waiting()
  held.add(first!)
  await nats.kill()
  await sweep()
  expect(await waiting()).toEqual([second])
  expect(await service.db.query({ text: 'SELECT FROM outbox WHERE published_at IS NULL' })).toEqual([])
  await nats.restart()
})
