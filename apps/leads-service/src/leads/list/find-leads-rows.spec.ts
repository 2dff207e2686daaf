import { FindLeadsRequest, type LeadFilters } from '@leadwire/contracts'
import { connectDatabase, type Database, type OpenTransaction, type Query } from '@leadwire/service-kit'
import { Client, escapeLiteral } from 'pg'
import { newAccount, newItem, type RunningLeadsService, startLeadsService } from '../../leads-service.fixture'
import type { Dependencies } from '../../operation'
import { findLeads } from './find-leads'

let service: RunningLeadsService
let small: { accountId: number; userId: number }
let large: { accountId: number; userId: number }
/**
 * An account as large as `small`. It was filled after PostgreSQL had collected its statistics, so PostgreSQL
 * plans for an account without leads.
 */
let recent: { accountId: number; userId: number }

// Thirty leads of each account match the rare filters, however many leads the account has.
const FILL = `
  INSERT INTO leads (account_id, id, number, reference, customer_id, user_id, name, value, postcode, user_agent, ip, referrer,
    device_type, device_name, browser, browser_version, os, os_version, status, type, test, created_at, updated_at, first_name,
    last_name, email, phone, phone_link, json_format, json, json_details)
  SELECT l.account_id, nextval('leads_id_seq'), n, gen_random_uuid(), l.customer_id, CASE WHEN rare THEN $3::bigint END, l.name,
    0, CASE WHEN rare THEN 'SW1A 1AA' ELSE 'M1 1AA' END, '', '', CASE WHEN rare THEN 'Phone' ELSE 'Website' END, '', '', '', '', '',
    '', CASE WHEN rare THEN 'sold' ELSE 'open' END, 'quote', rare, l.created_at + n * interval '1 second',
    l.created_at + n * interval '1 second', l.first_name, l.last_name, l.email, l.phone, l.phone_link, l.json_format, l.json, l.json_details
  FROM leads l, generate_series(2, $2::int) n, LATERAL (SELECT n % ($2::int / 30) = 0 AS rare) sparse
  WHERE l.account_id = $1`

const COUNT = 'UPDATE accounts SET lead_count = $2 WHERE id = $1'

const FILL_SEARCH = `
  INSERT INTO lead_search (account_id, term, number)
  SELECT account_id, term, number
  FROM leads, unnest(CASE WHEN status = 'sold' THEN ARRAY['zoe', '$8590'] ELSE ARRAY['ada', '$3210'] END) AS term
  WHERE account_id = $1`

// Gives nearly all leads one attribute, and thirty leads another attribute.
const FILL_ATTRIBUTES = `
  INSERT INTO lead_attributes (account_id, term, number)
  SELECT account_id, CASE WHEN status = 'sold' THEN 'gclid:rare' ELSE 'utm_source:many' END, number FROM leads WHERE account_id = $1`

// Thirty leads have an open appointment on the first of January. All leads have an open callback in February.
const FILL_ENTRIES = ['appointments', 'callbacks'].map((table) => {
  const isCallback = table === 'callbacks'
  return `
    INSERT INTO ${table} (account_id, lead_id, user_id, date, notify, invitation_id)
    SELECT account_id, id, $2, '2001-0${isCallback ? 2 : 1}-01', false, gen_random_uuid() FROM leads
    WHERE account_id = $1 AND (status = 'sold' OR ${isCallback})`
})

const filled = async (db: Database, count: number) => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const userId = user!.id
  await service.leads.createLeads({ leads: [newItem(accountId)] })
  await db.query({
    text: `UPDATE leads SET created_at = '2001-01-01', updated_at = '2001-01-01' WHERE account_id = $1`,
    values: [accountId],
  })
  await db.query({ text: FILL, values: [accountId, count, userId] })
  await db.query({ text: COUNT, values: [accountId, count] })
  for (const text of [FILL_SEARCH, FILL_ATTRIBUTES]) await db.query({ text, values: [accountId] })
  for (const text of FILL_ENTRIES) await db.query({ text, values: [accountId, userId] })
  return { accountId, userId }
}

/** Runs statements that may take longer than a statement of the service may. */
const runUnlimited = async (...texts: string[]) => {
  const sql = new Client({ connectionString: service.database.url })
  await sql.connect()
  for (const text of texts) await sql.query(text)
  await sql.end()
}

beforeAll(async () => {
  service = await startLeadsService()
  const db = connectDatabase({
    url: service.database.url,
    poolSize: 1,
    lifecycle: service.lifecycle,
    answerLimitMs: 300_000,
  }).with('fill', ['statement_timeout = 0', 'session_replication_role = replica'])
  small = await filled(db, 10_000)
  large = await filled(db, 100_000)
  await runUnlimited('VACUUM ANALYZE leads, accounts, lead_search, lead_attributes, appointments, callbacks')
  recent = await filled(db, 10_000)
}, 300_000)
afterAll(() => service.stop())

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** Counts the rows of tables and indexes that a plan has read. */
const countRows = (plan: Plan): number => {
  const own = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  const below = (plan.Plans ?? []).reduce((sum, child) => sum + countRows(child), 0)
  return (plan['Relation Name'] ? own : 0) + below
}

const renderLiteral = (value: unknown) =>
  value === null ? 'NULL' : escapeLiteral(Array.isArray(value) ? `{${value.join()}}` : String(value))

/** Wraps a database, and counts the rows that the statements of its transactions read. */
const counting = (database: Database) => {
  let rows = 0
  let statements = 0
  // Prepares the statement, because EXPLAIN of a statement with values would plan for just these values.
  const count = async (tx: OpenTransaction, { text, values = [] }: Query) => {
    const name = `counted_${statements++}`
    await tx.query({ text: `PREPARE ${name} AS ${text}` })
    const given = values.length > 0 ? `(${values.map(renderLiteral).join()})` : ''
    const [row] = await tx.query<{ 'QUERY PLAN': [{ Plan: Plan }] | string }>({
      text: `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE ${name} ${given}`,
    })
    await tx.query({ text: `DEALLOCATE ${name}` })
    const plan = row!['QUERY PLAN']
    rows += countRows((typeof plan === 'string' ? JSON.parse(plan) : plan)[0].Plan)
  }
  const counted: Database = {
    ...database,
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          ...tx,
          query: async (query) => {
            await count(tx, query)
            return tx.query(query)
          },
        }),
      ),
  }
  return { database: counted, rows: () => rows }
}

const read = async (
  { accountId, userId }: { accountId: number; userId: number },
  over: Parameters<typeof FindLeadsRequest.fromPartial>[0],
) => {
  const { database, rows } = counting(service.db)
  const place = { $case: 'page', value: 1 } as const
  const filters = over.filters && { ...over.filters, ...(over.filters.assignedTo && { assignedTo: userId }) }
  const request = FindLeadsRequest.fromPartial({
    accountId,
    sort: '-created_at',
    perPage: 20,
    place,
    ...over,
    filters,
  })
  const { count, nextCursor } = await findLeads({ database, jsonFormat: 0 } as Dependencies, request)
  return { count, rows: rows(), nextCursor }
}

const WALK = { place: { $case: 'cursor', value: '' } } as const
const MARCH = '2001-03-15T00:00:00Z'
const RARE: Partial<LeadFilters>[] = [
  { status: 'sold' },
  { referrer: 'Phone' },
  { postcode: 'SW1' },
  { test: true },
  { assignedTo: 1 },
  { q: 'zo' },
  { q: 'zoe', status: 'sold' },
  { q: 'ada zoe' },
  { q: '0958' },
  { q: '09 58' },
  { attribute: 'gclid:rare' },
  { attribute: 'gclid:rare', status: 'sold' },
  { dueTo: '2001-01-15T00:00:00Z' },
  { dueTo: MARCH, status: 'sold' },
]

test.each(RARE)('a page of the few with %j reads as little in a large account', async (filters) => {
  const [few, many] = [await read(small, { filters }), await read(large, { filters })]
  expect(few.count).toBe(filters.q === 'ada zoe' ? 0 : 20)
  expect(many.count).toBe(few.count)
  expect(many.rows).toBeLessThan(few.rows * 1.2 + 10)
  // The scan first counts the rows of each word, up to 10,001. Nearly all leads have the word `ada`, so its
  // count reads 10,001 rows. All leads have an entry in February, whose count reads 10,001 entries and leads.
  const counted = filters.q === 'ada zoe' || filters.dueTo === MARCH ? 20_002 : 0
  expect(many.rows).toBeLessThan(600 + counted)
})

test.each<Partial<LeadFilters>>([
  {},
  { status: 'open' },
  { referrer: 'Website' },
  { postcode: 'M' },
  { test: false },
  { q: 'ada' },
  { q: '0123' },
  { attribute: 'utm_source:many' },
  { unassigned: true },
  { dueTo: MARCH },
  { attribute: 'utm_source:many', status: 'open', createdTo: '2001-01-02T00:00:00Z' },
  { status: 'open', referrer: 'Website', test: false, createdFrom: '2001-01-01T01:00:00Z' },
  { createdFrom: '2001-01-01T01:00:00Z', createdTo: '2001-01-01T02:00:00Z' },
  { updatedSince: '2001-01-01T01:00:00Z' },
])('a step of a walk of the many with %j reads about what it shows', async (filters) => {
  const sort = filters.updatedSince ? 'updated_at' : '-created_at'
  const { count, rows } = await read(large, { ...WALK, filters, sort, perPage: 100 })
  expect(count).toBe(100)
  const counted = filters.q || filters.postcode || filters.attribute ? 10_001 : 0
  expect(rows).toBeLessThan(1000 + counted + (filters.dueTo ? 20_002 : 0))
})

test.each<Partial<LeadFilters>>([
  {},
  ...RARE,
  { status: 'open' },
  { referrer: 'Website' },
  { postcode: 'M' },
  { q: 'ada' },
  { createdFrom: '2001-01-01T01:00:00Z' },
])('a page with %j reads as little in an account that the statistics do not know', async (filters) => {
  const [known, unknown] = [await read(small, { filters }), await read(recent, { filters })]
  expect(unknown.count).toBe(known.count)
  expect(unknown.rows).toBeLessThan(known.rows * 1.2 + 10)
})

test('a page of the list for people reads one entry of each kind for each lead', async () => {
  for (const account of [small, large, recent]) {
    const { count, rows } = await read(account, { managed: true })
    expect(count).toBe(20)
    expect(rows).toBeLessThan(200)
  }
})

test.each<[string, Partial<LeadFilters>]>([
  ['-created_at', { status: 'open', referrer: 'Phone' }],
  ['created_at', { test: false, assignedTo: 1 }],
  ['updated_at', { status: 'sold', updatedSince: '2001-01-01T00:00:01Z' }],
  ['-updated_at', { status: 'lost' }],
  ['created_at', { attribute: 'utm_source:many', referrer: 'Phone' }],
])('sorted by %s, %j reads a bounded part and says where to go on', async (sort, filters) => {
  const [few, many] = [
    await read(small, { ...WALK, filters, sort, perPage: 100 }),
    await read(large, { ...WALK, filters, sort, perPage: 100 }),
  ]
  // The scan reads 10,001 entries of an attribute to count them, and again to read their leads.
  const entries = filters.attribute ? 20_002 : 0
  expect(many.rows).toBeLessThan(10_500 + entries)
  expect(few.nextCursor).toBeUndefined()
  if (filters.assignedTo === undefined) expect(many.nextCursor).toBeDefined()
  const counted = await read(large, { filters, sort })
  expect(counted.rows).toBeLessThan(25_000 + entries)
})

test('where PostgreSQL takes all leads to have one status, those with another are found as quickly', async () => {
  await runUnlimited(
    'ALTER TABLE leads ALTER COLUMN status SET (n_distinct = 1)',
    // Makes the index larger than the index of numbers, as in an account with millions of leads.
    'ALTER INDEX leads_by_status SET (fillfactor = 10)',
    'REINDEX INDEX leads_by_status',
    'ANALYZE leads',
  )
  const { count, rows } = await read(large, { filters: { status: 'sold', referrer: 'Phone' } })
  expect(count).toBe(20)
  expect(rows).toBeLessThan(600)
})

test('where PostgreSQL takes nearly all leads to be unassigned, the few unassigned are found as quickly', async () => {
  await runUnlimited(
    `UPDATE leads SET user_id = ${small.userId} WHERE account_id = ${small.accountId} AND number % 333 <> 1`,
    // Makes the index larger than the index of numbers, as in an account with many changes.
    'ALTER INDEX leads_unassigned SET (fillfactor = 10)',
    'REINDEX INDEX leads_unassigned',
  )
  const { count, rows } = await read(small, { filters: { unassigned: true } })
  expect(count).toBe(20)
  expect(rows).toBeLessThan(600)
})
