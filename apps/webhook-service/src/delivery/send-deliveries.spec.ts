import {
  connectDatabase,
  createLifecycle,
  createLogger,
  createMetrics,
  type Lifecycle,
  migrate,
  type Query,
  type Transaction,
} from '@leadwire/service-kit'
import { createDatabase, eventually } from '@leadwire/test-kit'
import { migrations } from '../migrations'
import { storedEvent } from '../service.fixture'
import { createAppend } from './append/append-in-batches'
import { classifyFailure, type Outcome } from './attempt/make-attempt'
import { QUEUE_SETTINGS } from './deliver-events'
import { createDeliveryMetrics } from './delivery-metrics'
import { type Sender, sendDeliveries } from './send-deliveries'

const logger = createLogger({ service: 'spec', level: 'silent' })

let database: ReturnType<typeof connectDatabase>
let lifecycle: Lifecycle
let drop: () => Promise<void>
let url: string
let sender: Sender

beforeEach(async () => {
  const created = await createDatabase()
  drop = created.drop
  url = created.url
  lifecycle = createLifecycle(logger)
  database = connectDatabase({ url: created.url, poolSize: 5, lifecycle })
  await migrate(created.url, migrations)
})
afterEach(async () => {
  await sender.stop()
  await lifecycle.stop()
  await drop()
})

const startSender = (
  attempt: Parameters<typeof sendDeliveries>[0]['attempt'],
  sizes: { claimMs: number; concurrency: number; endpointConcurrency: number; schedule?: number[] },
  queue = database,
) =>
  sendDeliveries({
    database,
    queue,
    attempt,
    schedule: [60_000],
    clock: { now: () => new Date() },
    logger,
    ...sizes,
    metrics: createDeliveryMetrics({
      kind: 'webhook',
      metrics: createMetrics('spec'),
      queue: database,
      claimMs: sizes.claimMs,
      clock: { now: () => new Date() },
      logger,
    }),
  })

/** Starts the append step, which passes claimed deliveries to the sender. */
const startAppend = () =>
  createAppend({
    database,
    clock: { now: () => new Date() },
    findClaimLimits: sender.findClaimLimits,
    onAppended: sender.onCreated,
  })

const outcome = (error: Outcome['error']): Outcome => ({
  startedAt: new Date(),
  durationMs: 1,
  status: error ? null : 200,
  error,
  response: null,
})

const INSERT_ENDPOINTS = `
  INSERT INTO endpoints (account_id, url, enabled)
  SELECT 1, 'http://example.com', true FROM generate_series(1, $1)`

// Inserts $1 events with a delivery for each endpoint.
const INSERT_DELIVERIES = `
  WITH event AS (
    INSERT INTO events (id, account_id, account_key, lead_reference, body)
    SELECT gen_random_uuid(), 1, 'key', gen_random_uuid(), '{}' FROM generate_series(1, $1)
    RETURNING id, lead_reference
  )
  INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at)
  SELECT 1, e.id, p.id, e.lead_reference, 'pending', clock_timestamp() FROM event e CROSS JOIN endpoints p`

const states = () =>
  database.query({
    text: 'SELECT status, attempt_count, claim, count(*)::int FROM deliveries GROUP BY 1, 2, 3',
  })

test('without free sockets an attempt does not count, and is repeated a moment later', async () => {
  await database.query({ text: INSERT_ENDPOINTS, values: [1] })
  const outcomes: Outcome['error'][] = []
  sender = startSender(
    async () => {
      const error = outcomes.length < 2 ? classifyFailure({ code: 'EMFILE' }) : null
      outcomes.push(error)
      return outcome(error)
    },
    { claimMs: 5000, concurrency: 16, endpointConcurrency: 4 },
  )
  await startAppend()(storedEvent(1))
  await eventually(async () =>
    expect(await states()).toEqual([{ status: 'delivered', attempt_count: 1, claim: null, count: 1 }]),
  )
  expect(outcomes).toEqual(['internal', 'internal', null])
})

test('a large body that is erased after the claim stops no other attempt', async () => {
  await database.query({ text: INSERT_ENDPOINTS, values: [1] })
  await database.query({ text: INSERT_DELIVERIES, values: [1] })
  const body = Buffer.alloc(20_000)
  await database.query({ text: 'UPDATE events SET body = $1, erased_at = now()', values: [body] })
  sender = startSender(async () => outcome(null), { claimMs: 5000, concurrency: 16, endpointConcurrency: 4 })
  await eventually(async () =>
    expect(await states()).toEqual([
      { status: 'pending', attempt_count: 0, claim: expect.any(Number), count: 1 },
    ]),
  )
  expect(sender.findClaimLimits(new Set()).deliveries).toBeGreaterThan(0)
})

test('a retry that is due before the next poll does not wait for the poll', async () => {
  await database.query({ text: INSERT_ENDPOINTS, values: [1] })
  const attempted: number[] = []
  const query = <Row extends object>(each: Query) =>
    each.name === 'find-due-endpoints' ? Promise.resolve<Row[]>([]) : database.query<Row>(each)
  sender = startSender(
    async ({ attemptCount }) => {
      attempted.push(attemptCount)
      return outcome(attemptCount === 0 ? 'timeout' : null)
    },
    { claimMs: 5000, concurrency: 16, endpointConcurrency: 4, schedule: [100] },
    { ...database, query },
  )
  await startAppend()(storedEvent(1))
  await eventually(async () =>
    expect(await states()).toEqual([{ status: 'delivered', attempt_count: 2, claim: null, count: 1 }]),
  )
  expect(attempted).toEqual([0, 1])
})

test('the attempt of a dead process is repeated within a second after its claim expires, even if the queue is idle', async () => {
  await database.query({ text: INSERT_ENDPOINTS, values: [1] })
  await database.query({ text: INSERT_DELIVERIES, values: [1] })
  await database.query({
    text: "UPDATE deliveries SET claim = 1, claimed_until = clock_timestamp() + interval '1 minute'",
  })
  const polledAt: number[] = []
  const query = <Row extends object>(each: Query) => {
    if (each.name === 'find-due-endpoints') polledAt.push(performance.now())
    return database.query<Row>(each)
  }
  sender = startSender(
    async () => outcome(null),
    { claimMs: 5000, concurrency: 16, endpointConcurrency: 4 },
    { ...database, query },
  )
  // The first two pauses between polls last 250 ms and 500 ms. While the delivery is claimed, the next pauses
  // last 500 ms, too. Without a claim they would last 1 s, 2 s, 4 s and so on.
  await eventually(() => {
    const pauses = polledAt.slice(1).map((at, index) => at - polledAt[index]!)
    expect(Math.min(...pauses.slice(2))).toBeLessThan(900)
  })
  await database.query({ text: 'UPDATE deliveries SET claimed_until = clock_timestamp()' })
  await eventually(async () =>
    expect(await states()).toEqual([{ status: 'delivered', attempt_count: 1, claim: null, count: 1 }]),
  )
})

test('a claim that ends in an hour is not valid, because PostgreSQL’s clock has gone back', async () => {
  await database.query({ text: INSERT_ENDPOINTS, values: [1] })
  await database.query({ text: INSERT_DELIVERIES, values: [1] })
  await database.query({
    text: "UPDATE deliveries SET claim = 1, claimed_until = clock_timestamp() + interval '1 hour'",
  })
  sender = startSender(async () => outcome(null), { claimMs: 5000, concurrency: 16, endpointConcurrency: 4 })
  await eventually(async () =>
    expect(await states()).toEqual([{ status: 'delivered', attempt_count: 1, claim: null, count: 1 }]),
  )
})

test('while attempts cannot be recorded, only few more start, and none is repeated', async () => {
  await database.query({ text: INSERT_ENDPOINTS, values: [100] })
  await database.query({ text: INSERT_DELIVERIES, values: [30] })
  const attempted: number[] = []
  let release: () => void
  const locked = new Promise<void>((resolve) => {
    release = resolve
  })
  const locking = database.transaction(async (tx) => {
    await tx.query({ text: 'LOCK TABLE attempts IN ACCESS EXCLUSIVE MODE' })
    release()
    // Waits until the claims of the unrecorded attempts have expired.
    await eventually(async () => {
      const [{ expired }] = (await tx.query<{ expired: number }>({
        text: 'SELECT count(*)::int AS expired FROM deliveries WHERE claimed_until < clock_timestamp()',
      })) as [{ expired: number }]
      expect(expired).toBeGreaterThan(900)
    })
  })
  await locked
  sender = startSender(
    async ({ id }) => {
      attempted.push(id)
      return outcome(null)
    },
    { claimMs: 1000, concurrency: 512, endpointConcurrency: 16 },
  )
  await locking
  expect(attempted.length).toBeLessThan(2000)
  await eventually(async () =>
    expect(await states()).toEqual([{ status: 'delivered', attempt_count: 1, claim: null, count: 3000 }]),
  )
  expect(new Set(attempted).size).toBe(attempted.length)
})

test('claims do not read ended deliveries again, although an old snapshot keeps them in the index', async () => {
  await database.query({ text: INSERT_ENDPOINTS, values: [1] })
  let read = 0
  const queue = connectDatabase({ url, poolSize: 5, lifecycle }).with('queue', QUEUE_SETTINGS)
  const entriesRead = async (tx: Transaction) => {
    const [count] = await tx.query<{ entries: number }>({
      text: `SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid))::int AS entries
             FROM pg_index WHERE indrelid = 'deliveries'::regclass AND NOT indisprimary`,
    })
    return count!.entries
  }
  /** Runs a transaction, and counts the index entries that a claim reads. */
  const transaction: typeof queue.transaction = (work) =>
    queue.transaction((tx) =>
      work({
        send: tx.send,
        query: async <Row extends object>(each: Query) => {
          if (each.name !== 'lock-due-deliveries') return tx.query<Row>(each)
          const before = await entriesRead(tx)
          const rows = await tx.query<Row>(each)
          read += (await entriesRead(tx)) - before
          return rows
        },
      }),
    )
  sender = startSender(
    async () => outcome(null),
    { claimMs: 5000, concurrency: 64, endpointConcurrency: 16 },
    { ...queue, transaction },
  )
  const readInRounds: number[] = []
  await database.transaction(async (old) => {
    await old.query({ text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ' })
    await old.query({ text: 'SELECT FROM deliveries' })
    // The transaction stays idle until the end of all rounds.
    await old.query({ text: 'SET LOCAL idle_in_transaction_session_timeout = 0' })
    for (let round = 1; round <= 6; round += 1) {
      read = 0
      await database.query({ text: INSERT_DELIVERIES, values: [400] })
      sender.wake()
      await eventually(async () =>
        expect(await states()).toEqual([
          { status: 'delivered', attempt_count: 1, claim: null, count: 400 * round },
        ]),
      )
      readInRounds.push(read)
    }
  })
  const [first, ...others] = readInRounds as [number, ...number[]]
  expect(first).toBeGreaterThanOrEqual(400)
  expect(Math.max(...others)).toBeLessThan(4 * first)
})
