import { Client } from 'pg'
import { buildDependencies, openTables, pagesRead } from '../large-endpoints.fixture'
import { formatCursor, listEvents } from './list-events'

const EVENTS = Number(process.env['LEADWIRE_SCALE_ROWS'] ?? 60_000)
const BATCH = 100_000
const ACCOUNT = 1
/**
 * The maximum number of database pages that a request may read. A request returns up to 100 events, which may
 * cost four pages each. A request that filters by type scans 1,000 events, which may cost one page each.
 */
const MOST = { page: 450, types: 1100 }

// One event in 20,000 has a rare type. Every tenth event is followed by an event of another account.
const FILL = `
  INSERT INTO events (id, account_id, account_key, lead_reference, type, body, number, lead_version)
  SELECT lpad(to_hex(n * 2 + other), 32, '0')::uuid, ${ACCOUNT} + other, 'key', lpad(to_hex(n), 32, '0')::uuid,
    CASE WHEN n % 20000 = 0 THEN 'lead.erased' ELSE 'lead.created' END,
    convert_to(format('{"data":{"reference":"%s"}}', n), 'UTF8'), n, 1
  FROM generate_series($1::int, $2::int) n, generate_series(0, 1) other WHERE other = 0 OR n % 10 = 0`

let tables: Awaited<ReturnType<typeof openTables>>
// The statements of this connection have no time limit.
let sql: Client
const run = (text: string, values: unknown[] = []) => sql.query(text, values)

beforeAll(async () => {
  tables = await openTables()
  sql = new Client({ connectionString: tables.url })
  await sql.connect()
  await run('ALTER TABLE events SET (autovacuum_enabled = off)')
  for (let from = 1; from <= EVENTS; from += BATCH)
    await run(FILL, [from, Math.min(EVENTS, from + BATCH - 1)])
  await run(`INSERT INTO event_counters VALUES (${ACCOUNT}, ${EVENTS})`)
  // Erases bodies as an erasure does.
  await run(
    `UPDATE events SET body = '', erased_at = now() WHERE account_id = ${ACCOUNT} AND number % 10 = 3`,
  )
  await run('VACUUM ANALYZE events')
}, 60_000 + EVENTS)
afterAll(async () => {
  await sql.end()
  await tables.close()
})

const at = (number: number) =>
  formatCursor(
    number,
    (number * 2)
      .toString(16)
      .padStart(32, '0')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  )

const pagesAt = (after: string | undefined, types: string[] = []) =>
  pagesRead(tables.database, async (database) => {
    const request = { accountId: ACCOUNT, types, limit: 100, ...(after !== undefined && { after }) }
    expect(await listEvents(buildDependencies(database), request)).toMatchObject({ gone: false })
  })

const places: [string, string | undefined][] = [
  ['the oldest', undefined],
  ...[1, EVENTS / 4, EVENTS / 2, EVENTS - 1000, EVENTS - 100, EVENTS].map((number): [string, string] => [
    `${number}`,
    at(number),
  ]),
  ['now', 'now'],
]

test.each(
  places,
)(`with ${EVENTS} events in an account, a page after %s reads only a few`, async (_, after) => {
  expect(await pagesAt(after)).toBeLessThan(MOST.page)
  expect(await pagesAt(after, ['lead.erased'])).toBeLessThan(MOST.types)
})

test('pruned events that are not vacuumed yet do not slow down a reader of later events', async () => {
  await run(`DELETE FROM events WHERE account_id = ${ACCOUNT} AND number <= ${EVENTS / 2}`)
  for (const number of [EVENTS / 2 + 1, EVENTS - 1000, EVENTS])
    expect(await pagesAt(at(number))).toBeLessThan(MOST.page)
  expect(await pagesAt('now')).toBeLessThan(MOST.page)
})
