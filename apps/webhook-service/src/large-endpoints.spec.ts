import { within } from '@leadwire/service-kit'
import { manualClock } from '@leadwire/test-kit'
import { listDeliveries } from './deliveries/list-deliveries'
import { claimDeliveries, newClaim } from './delivery/claim/claim-deliveries'
import { findDueEndpoints } from './delivery/claim/due-endpoints'
import { resetFutureAttempts } from './delivery/claim/reset-future-attempts'
import { countOpenDeliveries } from './delivery/delivery-metrics'
import { recoverWebhookEndpoint } from './endpoints/replay/recover-webhook-endpoint'
import { replayWebhookEndpoint } from './endpoints/replay/replay-webhook-endpoint'
import { runReplay } from './endpoints/replay/run-replay'
import { createSyncDeliveries } from './endpoints/state/sync-deliveries'
import { updateWebhookEndpoint } from './endpoints/update-webhook-endpoint'
import {
  deleteWebhookEndpoint,
  listWebhookEndpointHealth,
  retrieveWebhookEndpoint,
} from './endpoints/webhook-endpoints'
import { buildDependencies, openTables, rowsRead } from './large-endpoints.fixture'
import { check } from './reconciliation/check'
import { removeAccount } from './removal/remove-events'

type Filled = Awaited<ReturnType<typeof filled>>

const clock = manualClock('2026-06-01T00:00:00Z')
const ACCOUNT = 1
const OTHER = 2
const CLAIM_MS = 14_000
let small: Filled
let large: Filled

/**
 * Creates an enabled endpoint with `count` deliveries of each status, and a disabled endpoint with `count`
 * held deliveries. `count` must exceed 10,000, the limit of counts.
 */
const filled = async (count: number) => {
  const tables = await openTables()
  const on = await tables.endpoint(ACCOUNT)
  const off = await tables.endpoint(ACCOUNT, { enabled: false })
  for (const status of ['pending', 'exhausted', 'delivered']) await tables.fill(ACCOUNT, on, status, count)
  await tables.fill(ACCOUNT, off, 'held', count)
  // The deliveries of other accounts are newer, and must not be scanned.
  await tables.fill(OTHER, await tables.endpoint(OTHER), 'delivered', count)
  await tables.vacuum()
  return { ...tables, on, off }
}

beforeAll(async () => {
  ;[small, large] = [await filled(10_500), await filled(31_500)]
}, 120_000)
afterAll(() => Promise.all([small.close(), large.close()]))

/** Expects that work reads the same number of rows in a database with three times as many deliveries. */
const costsTheSame = async (
  work: (tables: Filled, database: Filled['database']) => Promise<unknown>,
  least = 1,
) => {
  const costs = []
  for (const tables of [small, large])
    costs.push(await rowsRead(tables.database, (database) => work(tables, database)))
  const [ofSmall, ofLarge] = costs as [number, number]
  expect(ofSmall).toBeGreaterThanOrEqual(least)
  expect(ofLarge).toBeLessThanOrEqual(ofSmall + 10)
  return ofLarge
}

const filters = [
  {},
  { status: 'pending' },
  { status: 'held' },
  { status: 'delivered' },
  { status: 'exhausted' },
  { status: 'cancelled' },
  { type: 'lead.updated' },
  { error: 'timeout', status: 'pending' },
  { failed: true },
  { failed: false, status: 'delivered' },
  { to: '2999-01-01T00:00:00Z', from: '2000-01-01T00:00:00Z', error: 'tls' },
]

describe.each([{}, { of: 'on' as const }, { of: 'off' as const }])('a list of %j', ({ of }) => {
  test.each(filters)('with %j', async (filter) => {
    for (const place of [
      { page: 1 },
      { page: 500 },
      { page: 501 },
      { page: 0, cursor: Number.MAX_SAFE_INTEGER },
      { page: 0, cursor: 10_000 },
    ])
      await costsTheSame((tables, database) =>
        listDeliveries(buildDependencies(database), {
          accountId: ACCOUNT,
          ...filter,
          ...(of && { endpointId: tables[of] }),
          ...place,
        }),
      )
  })
})

test('a list of a lead', async () => {
  await costsTheSame(async ({ on }, database) => {
    const { deliveries } = await listDeliveries(buildDependencies(database), {
      accountId: ACCOUNT,
      endpointId: on,
      page: 500,
    })
    const { leadReference } = deliveries[0]!
    const start = { leadReference: leadReference.slice(0, 8) }
    for (const filter of [{}, { status: 'exhausted' }, { endpointId: on }, start])
      await listDeliveries(buildDependencies(database), {
        accountId: ACCOUNT,
        leadReference,
        ...filter,
        page: 1,
      })
  })
})

test('the search for attempts that are scheduled too late', async () => {
  await costsTheSame((_, database) => resetFutureAttempts(buildDependencies(database, { clock })), 0)
})

test('the health of endpoints, and the metric', async () => {
  await costsTheSame((_, database) =>
    listWebhookEndpointHealth(buildDependencies(database), { accountId: ACCOUNT }),
  )
  await costsTheSame((_, database) => countOpenDeliveries(database, { limit: 10_000 }))
})

test('a recovery and a replay: the requests, the progress, the count, and rounds at both ends of the log', async () => {
  const request = { since: '2020-01-01T00:00:00Z', state: 'all' }
  const key = (endpointId: number) => ({ accountId: ACCOUNT, endpointId })
  await costsTheSame(({ on }, database) =>
    recoverWebhookEndpoint(buildDependencies(database), { ...key(on), ...request }),
  )
  await costsTheSame(({ on }, database) => retrieveWebhookEndpoint(buildDependencies(database), key(on)))
  const run = (database: Filled['database']) => runReplay(buildDependencies(database, { clock }))
  const both = (work: (tables: Filled) => Promise<unknown>) => Promise.all([small, large].map(work))
  await costsTheSame((_, database) => run(database))
  await both(({ database }) =>
    database.query({ text: 'UPDATE replays SET replayed_to = until_number - 200' }),
  )
  await costsTheSame((_, database) => run(database))
  await both(({ database }) => database.query({ text: 'DELETE FROM replays' }))

  const range = {
    from: '2020-01-01T00:00:00Z',
    to: '2099-01-01T00:00:00Z',
    types: { types: ['lead.created'] },
  }
  await costsTheSame(({ on }, database) =>
    replayWebhookEndpoint(buildDependencies(database), { ...key(on), ...range, dryRun: false }),
  )
  await costsTheSame((_, database) => run(database))
  // A new endpoint has received no event of the log.
  await both(async ({ database, endpoint }) => {
    const text = `UPDATE replays SET counted_to = until_number, endpoint_id = $1`
    await database.query({ text, values: [await endpoint(ACCOUNT)] })
  })
  await costsTheSame((_, database) => run(database))
  await both(async ({ database }) => {
    const ofNew = 'endpoint_id IN (SELECT endpoint_id FROM replays)'
    const made = await database.query({ text: `DELETE FROM deliveries WHERE ${ofNew} RETURNING id` })
    expect(made).toHaveLength(100)
  })
})

test('a check of open deliveries, with many endpoints that have none', async () => {
  const idle = `
    INSERT INTO endpoints (account_id, url, enabled) SELECT 3, 'http://127.0.0.1:1/', true FROM generate_series(1, 2000)`
  await large.database.query({ text: idle })
  for (const { database } of [small, large])
    await database.query({ text: `UPDATE endpoints SET updated_at = '2025-12-31'` })
  const next = { what: 'deliveries', notifications: false, accountId: undefined, after: '' }
  await costsTheSame(async ({ on }, database) => {
    const { findings, after } = await check(buildDependencies(database), { eventIds: [], next })
    expect(findings.map(({ kind }) => kind)).toEqual(Array(50).fill('delivery_overdue'))
    expect(after).toBe(`pending ${on}`)
  })
})

// Runs the statements with their generic plan. A plan for this account alone would never scan the deliveries
// of other accounts, so the test would prove nothing.
test('the removal of an account without deliveries scans no deliveries of other accounts', async () => {
  await large.database.transaction(async (tx) => {
    const text = `SELECT idx_tup_fetch AS rows FROM pg_stat_xact_user_tables WHERE relid = 'deliveries'::regclass`
    const before = await tx.query({ text })
    const removed = await removeAccount(buildDependencies(within(tx)), { accountId: 4 })
    expect(removed).toEqual({ done: true })
    expect(await tx.query({ text })).toEqual(before)
  })
})

test('disabling, enabling and deleting, and polls and claims while deliveries are out of sync', async () => {
  const change = (endpointId: number, enabled: boolean) => ({ accountId: ACCOUNT, endpointId, enabled })
  const lookAndClaim = async () => {
    await costsTheSame((_, database) =>
      findDueEndpoints(database, { from: new Date(0), until: clock.now(), claimMs: CLAIM_MS }),
    )
    await costsTheSame(({ on, off }, database) => {
      const rooms = new Map([on, off].map((id) => [id, 16]))
      return claimDeliveries(database, {
        rooms,
        from: new Map(),
        now: clock.now(),
        except: [],
        claim: newClaim(0),
      })
    })
  }
  const update = (of: 'on' | 'off', enabled: boolean) =>
    costsTheSame((tables, database) =>
      updateWebhookEndpoint(buildDependencies(database), change(tables[of], enabled)),
    )
  expect(await update('on', false)).toBeLessThan(50)
  await lookAndClaim()
  for (const { database } of [small, large])
    expect(
      await findDueEndpoints(database, { from: new Date(0), until: clock.now(), claimMs: CLAIM_MS }),
    ).toEqual([])
  await costsTheSame((_, database) => createSyncDeliveries(database, 100)())
  await lookAndClaim()
  expect(await update('on', true)).toBeLessThan(50)
  await costsTheSame((_, database) => createSyncDeliveries(database, 100)())
  await lookAndClaim()
  const remove = await costsTheSame(({ on }, database) =>
    deleteWebhookEndpoint(buildDependencies(database), { accountId: ACCOUNT, endpointId: on }),
  )
  expect(remove).toBeLessThan(50)
  await lookAndClaim()
  await costsTheSame((_, database) => createSyncDeliveries(database, 100)())
})
