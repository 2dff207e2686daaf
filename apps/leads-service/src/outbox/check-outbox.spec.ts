import { randomUUID } from 'node:crypto'
import {
  buildMessageId,
  type DeadLetter,
  Event,
  LEADS_STREAM,
  LEADS_STREAM_CONFIG,
  WEBHOOK_CONSUMER,
} from '@leadwire/contracts'
import {
  connectNats,
  createDeleteMessage,
  ensureStream,
  limitRepeats,
  type RepeatLimit,
} from '@leadwire/service-kit'
import { eventually, gate, startNats, type TestNats } from '@leadwire/test-kit'
import { AckPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import {
  lockWaiters,
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../leads-service.fixture'
import { type CheckOutboxDeps, checkOutbox } from './check-outbox'
import { createHasStreamRoom } from './has-stream-room'
import { createPublisher, type Publish, type Publisher } from './publish-events'
import { parkEvents, releaseEvents } from './record-events'
import { retryRefusedEvents } from './retry-refused-events'

let service: RunningLeadsService
let nats: TestNats
let connection: NatsConnection
let publisher: Publisher
let failures: RepeatLimit
/** The ids of the events that this spec's consumer has stored. */
let held: Set<string>
/** The records of the events that this spec's consumer has refused. */
let refused: DeadLetter[]

beforeAll(async () => {
  nats = await startNats()
})
afterAll(() => nats.stop())
beforeEach(async () => {
  service = await startLeadsService()
  const { logger, lifecycle } = service
  connection = await connectNats({ config: { NATS_URL: nats.url }, name: 'spec', logger, lifecycle })
  const { streams } = await manager()
  for await (const name of streams.names()) await streams.delete(name)
  publisher = createPublisher(connection, { logger })
  failures = limitRepeats(logger)
  held = new Set()
  refused = []
})
afterEach(() => service.stop())

const manager = () => jetstreamManager(connection)

/**
 * Creates leads, but does not publish their events, as if the process had ended right after the commit.
 * Resolves with the ids of the events.
 */
const createUnpublished = async (count: number): Promise<string[]> => {
  const { accountId } = await newAccount(service)
  const leads = Array.from({ length: count }, () => newItem(accountId))
  for (let at = 0; at < count; at += 500)
    readOutcomes(await service.leads.createLeads({ leads: leads.slice(at, at + 500) }))
  return service.committed.slice(-count).map(({ eventId }) => eventId)
}

/** Returns the number of the last message that the stream has stored, or 0 if there is no stream. */
const readLastSequence = async (): Promise<number> => {
  const { streams } = await manager()
  for await (const { config, state } of streams.list())
    if (config.name === LEADS_STREAM.name) return state.last_seq
  return 0
}

/** Creates leads, and publishes their events as the committing process does. */
const create = async (count: number): Promise<string[]> => {
  const eventIds = await createUnpublished(count)
  const before = await readLastSequence()
  publisher.publishFromMemory(service.committed.slice(-count))
  await publisher.finish()
  // The stream stores the messages a moment after NATS has received them.
  await eventually(async () => expect(await readLastSequence()).toBe(before + count))
  return eventIds
}

/** Makes the next checks of all rows due earlier, as if `seconds` had passed. */
const pass = (seconds: number) =>
  service.db.query({
    text: `UPDATE outbox SET next_check_at = next_check_at - $1::int * interval '1 second'`,
    values: [seconds],
  })

const findStoredEvents = async (eventIds: string[]) => ({
  eventIds: eventIds.filter((id) => held.has(id)),
  refused: refused.filter(({ eventId }) => eventIds.includes(eventId)),
})

const roundWith = (over: Partial<CheckOutboxDeps> = {}) =>
  checkOutbox({
    database: service.db,
    findStoredEvents,
    hasStreamRoom: createHasStreamRoom(connection),
    publish: publisher.publish,
    logger: service.logger,
    failures,
    ...over,
  })

/** Runs rounds until no further round is due at once. */
const check = async (over: Partial<CheckOutboxDeps> = {}) => {
  while ((await roundWith(over)) === true);
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

/**
 * Takes all messages that the stream has for webhook-service. First creates the stream and the consumer if
 * they are missing, as webhook-service does.
 */
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

const waiting = async () => {
  const text = 'SELECT event_id AS id FROM outbox ORDER BY event_id'
  const rows = await service.db.query<{ id: string }>({ text })
  return rows.map(({ id }) => id)
}

/** Reads the xmin of each row, which any change of the row would replace. */
const readRowVersions = () =>
  service.db.query<{ event_id: string; xmin: string }>({
    text: 'SELECT event_id, xmin::text FROM outbox ORDER BY event_id',
  })

const streamState = async () => (await (await manager()).streams.info(LEADS_STREAM.name)).state

const messageIds = async () => {
  const { streams } = await manager()
  const { first_seq: first, last_seq: last } = await streamState()
  const ids: string[] = []
  for (let seq = first; seq <= last; seq += 1) {
    const message = await streams.getMessage(LEADS_STREAM.name, { seq })
    ids.push(message!.header.get('Nats-Msg-Id'))
  }
  return ids
}

/**
 * Runs `checks` checks. Expects that the consumer has then stored `count` events, and that the outbox is
 * empty.
 */
const heals = async (count: number, checks = 2) => {
  for (let at = 0; at < checks; at += 1) {
    await pass(60)
    await check()
    await consume()
  }
  expect(held.size).toBe(count)
  await pass(60)
  await check()
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
  await consume()
  await create(7)
  await lose()
  await createUnpublished(3)
  await heals(15)
})

test('what a killed process did not publish is published ten seconds after its commit, and not before', async () => {
  await ensureConsumer()
  await createUnpublished(3)
  await pass(5)
  await check()
  expect((await streamState()).messages).toBe(0)
  await pass(5)
  await check()
  expect((await streamState()).messages).toBe(3)
})

test('a stored event is deleted at its first check, and is in the stream once', async () => {
  await create(3)
  await consume()
  await pass(10)
  await check()
  expect(await waiting()).toEqual([])
  expect((await streamState()).messages).toBe(3)
})

test('while webhook-service does not answer no row changes, and the stream has each event once', async () => {
  await create(600)
  await pass(7200)
  const before = await readRowVersions()
  const away = () => Promise.reject(new Error('away'))
  for (let round = 0; round < 3; round += 1)
    await expect(check({ findStoredEvents: away })).rejects.toThrow('away')
  expect(await readRowVersions()).toEqual(before)
  await consume()
  await check()
  expect(await waiting()).toEqual([])
  expect((await streamState()).messages).toBe(600)
})

test('each repetition has its own message id, and checks come after 10 s, 10 s, 30 s and every minute', async () => {
  const [eventId] = await create(1)
  const pauses: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const text = 'SELECT extract(epoch FROM next_check_at - clock_timestamp())::float8 AS pause FROM outbox'
    const [row] = await service.db.query<{ pause: number }>({ text })
    pauses.push(Math.ceil(row!.pause / 10) * 10)
    await pass(60)
    await check()
  }
  expect(pauses).toEqual([10, 10, 30, 60, 60])
  expect(await messageIds()).toEqual([0, 1, 2, 3, 4, 5].map((count) => buildMessageId(eventId!, count)))
})

test('a full stream drops its oldest events, which are published again when there is room, and not before', async () => {
  await ensureConsumer()
  await create(1)
  const { bytes } = await streamState()
  await (await manager()).streams.update(LEADS_STREAM.name, { max_bytes: 40 * bytes })
  await create(99)
  await pass(60)
  const before = await readRowVersions()
  for (let round = 0; round < 3; round += 1) await check()
  expect(await readRowVersions()).toEqual(before)
  expect((await streamState()).last_seq).toBe(100)
  expect((await streamState()).messages).toBeLessThan(50)
  await heals(100, 6)
})

test('while JetStream is unavailable stored events are deleted, and no other row changes', async () => {
  const [first, second] = await create(2)
  held.add(first!)
  await pass(10)
  const before = await readRowVersions()
  await nats.kill()
  try {
    await check()
  } finally {
    await nats.restart()
    await eventually(() => connection.rtt())
  }
  expect(await readRowVersions()).toEqual(before.filter(({ event_id: id }) => id === second))
  await heals(2)
})

test('a parked event is not published, however long it waits, until it is released', async () => {
  await createUnpublished(1)
  const [event] = service.committed.slice(-1)
  const parked = { ...event!, eventId: randomUUID() }
  await ensureConsumer()
  await service.db.transaction(async (tx) => parkEvents(tx, [parked]))
  held.add(event!.eventId)
  await pass(100_000)
  await check()
  expect([await waiting(), (await streamState()).messages]).toEqual([[parked.eventId], 0])
  await service.db.transaction(async (tx) => releaseEvents(tx, [parked.eventId]))
  await check()
  expect(await messageIds()).toEqual([parked.eventId])
})

test('a refused event is set aside with the reason until it is retried, which removes its record', async () => {
  const [broken] = await create(2)
  await consume((message) => {
    const { eventId } = Event.decode(message.data)
    if (eventId !== broken) return store(message)
    refused = [{ eventId, sequence: message.seq, reason: 'its lead has a broken part' }]
    message.term()
  })
  for (let round = 0; round < 3; round += 1) {
    await pass(60)
    await check()
  }
  expect((await streamState()).messages).toBe(2)
  expect(await service.db.query({ text: 'SELECT event_id, refusal, next_check_at FROM outbox' })).toEqual([
    { event_id: broken, refusal: 'its lead has a broken part', next_check_at: null },
  ])
  const webhooks = {
    deleteDeadLetters: async ({ eventIds = [] }: { eventIds?: readonly string[] | undefined }) => {
      refused = refused.filter(({ eventId }) => !eventIds.includes(eventId))
      return {}
    },
  }
  const retry = (accountId?: number) => retryRefusedEvents({ database: service.db, webhooks }, { accountId })
  expect(await retry(9_999_999)).toEqual({ events: 0, more: false })
  expect(await retry()).toEqual({ events: 1, more: false })
  expect(await retry()).toEqual({ events: 0, more: false })
  await heals(2)
})

test('a stored event is deleted, whatever record of a refusal there is', async () => {
  const [eventId] = await create(1)
  await consume()
  refused = [{ eventId: eventId!, sequence: 1, reason: 'another release could not read it' }]
  await heals(1, 0)
})

test('checks in the far future are made due, because the clock has gone back', async () => {
  await ensureConsumer()
  const [early] = await createUnpublished(1)
  await pass(-60)
  await createUnpublished(3)
  await service.db.query({
    text: "UPDATE outbox SET next_check_at = next_check_at + interval '1 hour' WHERE event_id <> $1",
    values: [early],
  })
  await check()
  expect((await streamState()).messages).toBe(3)
  await heals(4)
})

test('two rounds share the events that are due: each is published by one of them', async () => {
  await createUnpublished(700)
  await pass(10)
  const { opened, open } = gate()
  const published: string[] = []
  const slow: Publish = async ({ eventId }) => {
    published.push(eventId)
    if (published.length === 700) open()
    await opened
  }
  const hasStreamRoom = async () => true
  await Promise.all([
    roundWith({ publish: slow, hasStreamRoom }),
    roundWith({ publish: slow, hasStreamRoom }),
  ])
  expect(new Set(published).size).toBe(700)
})

test('a round takes 16 MB of events at most', async () => {
  await createUnpublished(6)
  await pass(10)
  await service.db.query({ text: `UPDATE outbox SET payload = convert_to(repeat('x', 4000000), 'UTF8')` })
  const asked: number[] = []
  await check({
    publish: async () => {},
    hasStreamRoom: async () => true,
    findStoredEvents: async (eventIds) => {
      asked.push(eventIds.length)
      return { eventIds: [], refused: [] }
    },
  })
  expect(asked).toEqual([4, 2])
})

test('an erasure waits for the round that is publishing an event of its lead', async () => {
  await createUnpublished(1)
  await pass(10)
  const { accountId, leadReference } = service.committed.at(-1)!
  const [started, ended] = [gate(), gate()]
  const round = roundWith({
    hasStreamRoom: async () => true,
    publish: async () => {
      started.open()
      await ended.opened
    },
  })
  await started.opened
  const erased = service.leads.eraseLead({ accountId, reference: leadReference! })
  await eventually(async () => expect(await lockWaiters(service)).toBe(1))
  ended.open()
  await Promise.all([round, erased])
  expect(await service.db.query({ text: 'SELECT type, next_check_at FROM outbox' })).toEqual([
    { type: 'lead.erased', next_check_at: null },
  ])
})

test('the message of an event that was published again is deleted by the id of the event', async () => {
  await ensureConsumer()
  const [eventId] = await createUnpublished(1)
  await pass(10)
  await check()
  const { last_seq: sequence } = await streamState()
  expect(await messageIds()).toEqual([buildMessageId(eventId!, 1)])
  const deleteMessage = createDeleteMessage(() => connection)
  await deleteMessage({ eventId: randomUUID(), sequence })
  expect((await streamState()).messages).toBe(1)
  await deleteMessage({ eventId: eventId!, sequence })
  await deleteMessage({ eventId: eventId!, sequence })
  expect((await streamState()).messages).toBe(0)
})
