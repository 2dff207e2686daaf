import { within } from '@leadwire/service-kit'
import { manualClock } from '@leadwire/test-kit'
import { listDeliveries } from './deliveries/list-deliveries'
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
import { dependenciesOf, openTables, rowsRead } from './large-endpoints.fixture'
import { claimDeliveries, newClaim } from './queue/claim-deliveries'
import { countOpenDeliveries } from './queue/delivery-metrics'
import { findDueEndpoints } from './queue/due-endpoints'
import { check } from './reconciliation/check'
import { removeAccount } from './removal/remove-events'

type Filled = Awaited<ReturnType<typeof filled>>

const clock = manualClock('2026-06-01T00:00:00Z')
const ACCOUNT = 1
const OTHER = 2
let small: Filled
let large: Filled

/** More deliveries of each status than a count counts, at an endpoint that is enabled, and another that is not. */
const filled = async (count: number) => {
  const tables = await openTables()
  const on = await tables.endpoint(ACCOUNT)
  const off = await tables.endpoint(ACCOUNT, { enabled: false })
  for (const status of ['pending', 'exhausted', 'delivered']) await tables.fill(ACCOUNT, on, status, count)
  await tables.fill(ACCOUNT, off, 'held', count)
  // What others have is newer, and is not walked past.
  await tables.fill(OTHER, await tables.endpoint(OTHER), 'delivered', count)
  await tables.vacuum()
  return { ...tables, on, off }
}

beforeAll(async () => {
  ;[small, large] = [await filled(10_500), await filled(31_500)]
}, 120_000)
afterAll(() => Promise.all([small.close(), large.close()]))

/** That work reads the same in a database with three times as many deliveries. */
const costsTheSame = async (work: (tables: Filled, database: Filled['database']) => Promise<unknown>) => {
  const costs = []
  for (const tables of [small, large])
    costs.push(await rowsRead(tables.database, (database) => work(tables, database)))
  const [ofSmall, ofLarge] = costs as [number, number]
  expect(ofSmall).toBeGreaterThan(0)
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
        listDeliveries(dependenciesOf(database), {
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
    const { deliveries } = await listDeliveries(dependenciesOf(database), {
      accountId: ACCOUNT,
      endpointId: on,
      page: 500,
    })
    const { leadReference } = deliveries[0]!
    const start = { leadReference: leadReference.slice(0, 8) }
    for (const filter of [{}, { status: 'exhausted' }, { endpointId: on }, start])
      await listDeliveries(dependenciesOf(database), {
        accountId: ACCOUNT,
        leadReference,
        ...filter,
        page: 1,
      })
  })
})

test('the health of endpoints, and the metric', async () => {
  await costsTheSame((_, database) =>
    listWebhookEndpointHealth(dependenciesOf(database), { accountId: ACCOUNT }),
  )
  await costsTheSame((_, database) => countOpenDeliveries(database, 10_000))
})

test('a recovery and a replay: the requests, what remains, the count, the progress at both ends of the log', async () => {
  const request = { since: '2020-01-01T00:00:00Z', state: 'all' }
  const key = (endpointId: number) => ({ accountId: ACCOUNT, endpointId })
  await costsTheSame(({ on }, database) =>
    recoverWebhookEndpoint(dependenciesOf(database), { ...key(on), ...request }),
  )
  await costsTheSame(({ on }, database) => retrieveWebhookEndpoint(dependenciesOf(database), key(on)))
  const run = (database: Filled['database']) => runReplay(dependenciesOf(database, { clock }))
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
    replayWebhookEndpoint(dependenciesOf(database), { ...key(on), ...range, dryRun: false }),
  )
  await costsTheSame((_, database) => run(database))
  // To an endpoint that is new all of the log is missing.
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

test('a check of open deliveries, whatever endpoints without any there are', async () => {
  const idle = `
    INSERT INTO endpoints (account_id, url, enabled) SELECT 3, 'http://127.0.0.1:1/', true FROM generate_series(1, 2000)`
  await large.database.query({ text: idle })
  for (const { database } of [small, large])
    await database.query({ text: `UPDATE endpoints SET updated_at = '2025-12-31'` })
  const next = { what: 'deliveries', notifications: false, accountId: undefined, after: '' }
  await costsTheSame(async ({ on }, database) => {
    const { findings, after } = await check(dependenciesOf(database), { eventIds: [], next })
    expect(findings.map(({ kind }) => kind)).toEqual(Array(50).fill('delivery_overdue'))
    expect(after).toBe(`pending ${on}`)
  })
})

// By the plan that is made for any account: one for this account alone would not show it.
test('the removal of an account without deliveries walks past those of no other', async () => {
  await large.database.transaction(async (tx) => {
    const text = `SELECT idx_tup_fetch AS rows FROM pg_stat_xact_user_tables WHERE relid = 'deliveries'::regclass`
    const before = await tx.query({ text })
    const removed = await removeAccount(dependenciesOf(within(tx)), { accountId: 4 })
    expect(removed).toEqual({ done: true })
    expect(await tx.query({ text })).toEqual(before)
  })
})

test('disabling, enabling, deleting, and polls and claims while the deliveries are out of sync', async () => {
  const change = (endpointId: number, enabled: boolean) => ({ accountId: ACCOUNT, endpointId, enabled })
  const lookAndClaim = async () => {
    await costsTheSame((_, database) => findDueEndpoints(database, clock.now(), new Date(0)))
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
      updateWebhookEndpoint(dependenciesOf(database), change(tables[of], enabled)),
    )
  expect(await update('on', false)).toBeLessThan(50)
  await lookAndClaim()
  for (const { database } of [small, large])
    expect(await findDueEndpoints(database, clock.now(), new Date(0))).toEqual([])
  await costsTheSame((_, database) => createSyncDeliveries(database, 100)())
  await lookAndClaim()
  expect(await update('on', true)).toBeLessThan(50)
  await costsTheSame((_, database) => createSyncDeliveries(database, 100)())
  await lookAndClaim()
  const remove = await costsTheSame(({ on }, database) =>
    deleteWebhookEndpoint(dependenciesOf(database), { accountId: ACCOUNT, endpointId: on }),
  )
  expect(remove).toBeLessThan(50)
  await lookAndClaim()
  await costsTheSame((_, database) => createSyncDeliveries(database, 100)())
})
