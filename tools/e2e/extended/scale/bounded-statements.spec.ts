import { fillDeliveries, fillEndpoints, fillLeads, openSql, type Sql, vacuum } from '@leadwire/fill'
import { eventually, type System, startSystem } from '@leadwire/test-kit'
import { type Client, createClient } from '../../support/client'
import { renderCsv } from '../../support/imports'

// Both sizes exceed 10,000, the maximum to which the API counts, so that the counts cost the same for both.
const SMALL = 12_000
const LARGE = Number(process.env['LEADWIRE_SCALE_ROWS'] ?? 36_000)
/** Sends each request six times: PostgreSQL may change the plan of a statement after five executions. */
const TIMES = 6

let system: System
let client: Client
let leads: Sql
let webhooks: Sql

beforeAll(async () => {
  // Nothing listens at the endpoints' URLs, so every attempt fails. Retries are due after 24 hours, when the
  // spec has long ended.
  system = await startSystem({ env: { WEBHOOK_RETRY_SCHEDULE: '24h', DUPLICATE_WINDOW: '90d' } })
  client = createClient(system.baseUrl, { token: system.token })
  leads = openSql(system.databases.leads.url)
  webhooks = openSql(system.databases.webhooks.url)
  for (const sql of [leads, webhooks]) await sql.rows('CREATE EXTENSION pg_stat_statements')
})
afterAll(async () => {
  await client.close()
  await Promise.all([leads.close(), webhooks.close()])
  await system.stop()
})

const encryptionKeys = () =>
  system.services.find(({ service }) => service === 'webhook-service')!.env['ENCRYPTION_KEYS']!

const data = async <T>(method: string, path: string, json?: unknown): Promise<T> => {
  const answer = await client.request<{ data: T }>(method, path, json === undefined ? {} : { json })
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
  return answer.json.data
}

/** Downloads a response that is not JSON with a `data` field. */
const download = async (path: string) =>
  expect(await client.request('GET', path)).toMatchObject({ status: 200 })

interface World {
  endpoints: Record<'delivered' | 'pending' | 'held' | 'exhausted', number>
  userId: number
}

/**
 * Adds an appointment or a callback to each of the newest `count` leads. Only the 100 entries with the latest
 * dates are open. A statement that passes over done entries to find open ones would therefore read nearly all
 * entries. Each entry is created on a day of its own, so that the figures have as many days as leads.
 */
const fillEntries = (table: 'appointments' | 'callbacks', userId: number, count: number) =>
  leads.rows(
    `INSERT INTO ${table} (account_id, lead_id, user_id, date, notify, invitation_id, done_at, created_at)
     SELECT account_id, id, $2, timestamptz '2026-01-01T00:00:00Z' - number * interval '1 minute', false,
       gen_random_uuid(), CASE WHEN number > 100 THEN now() END,
       timestamptz '2026-01-01T00:00:00Z' - number * interval '1 day'
     FROM leads WHERE account_id = $1 ORDER BY number DESC LIMIT $3`,
    [system.account.id, userId, count],
  )

/** Adds an event that is due in many years for each callback that has none. */
const fillDueEvents = () =>
  leads.rows(
    `INSERT INTO due_events (account_id, kind, entry_id, lead_id, date, due_at)
     SELECT account_id, 'callback', id, lead_id, date,
       timestamptz '2198-01-01T00:00:00Z' + id * interval '1 minute'
     FROM callbacks WHERE account_id = $1 ON CONFLICT DO NOTHING`,
    [system.account.id],
  )

/**
 * Makes `count` events due, starting with the newest callbacks. Waits until leads-service has taken them. Then
 * removes the dead rows, because later statements would touch them.
 */
const takeDueEvents = async (count: number) => {
  await leads.rows(
    `UPDATE due_events SET due_at = now() WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM due_events WHERE account_id = $1 AND kind = 'callback' ORDER BY entry_id DESC LIMIT $2
     ))`,
    [system.account.id, count],
  )
  await eventually(
    async () => expect(await leads.rows('SELECT FROM due_events WHERE due_at <= now() LIMIT 1')).toEqual([]),
    { timeoutMs: 60_000 },
  )
  await vacuum(leads, ['due_events', 'callbacks'])
}

/** Lets the newest `count` leads be counted again, with their appointments. */
const changeFigures = (count: number) =>
  leads.rows(
    `INSERT INTO changed_leads (account_id, lead_id)
     SELECT account_id, id FROM leads WHERE account_id = $1 ORDER BY number DESC LIMIT $2`,
    [system.account.id, count],
  )

/** Waits until all leads are indexed, and all leads and changes are counted. */
const waitUntilIndexed = () =>
  eventually(
    async () =>
      expect(
        await leads.rows(
          `SELECT FROM accounts a JOIN lead_search_progress p ON p.account_id = a.id AND p.number >= a.lead_count
             JOIN figures_progress f ON f.account_id = a.id AND f.number >= a.lead_count
           WHERE a.id = $1 AND NOT EXISTS (SELECT FROM changed_leads c WHERE c.account_id = a.id)`,
          [system.account.id],
        ),
      ).toHaveLength(1),
    { timeoutMs: 120_000 + LARGE },
  )

const grow = async ({ endpoints, userId }: World, count: number) => {
  const target = { leads, webhooks, assetsUrl: `${system.baseUrl}/assets` }
  await fillLeads(target, system.account.id, count)
  for (const table of ['appointments', 'callbacks'] as const) await fillEntries(table, userId, count)
  await fillDueEvents()
  await changeFigures(count)
  // The deliveries are due tomorrow, so that no attempt changes them.
  const due = { from: Date.now() + 86_400_000, everyMs: 1 }
  for (const status of ['delivered', 'pending', 'held', 'exhausted'] as const)
    await fillDeliveries(target, { endpointId: endpoints[status], count, status, due })
  await waitUntilIndexed()
  for (const sql of [leads, webhooks]) {
    const tables = await sql.rows<{ name: string }>(
      `SELECT format('%I.%I', schemaname, relname) AS name FROM pg_stat_user_tables`,
    )
    await vacuum(
      sql,
      tables.map(({ name }) => name),
    )
  }
}

const NEW_LEAD = {
  name: 'Porch',
  first_name: 'Ada',
  last_name: 'Byron',
  email: 'ada@example.com',
  phone: '020 7946 0000',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

const listQueries = ['page=1', 'page=300', 'per_page=100', 'cursor=', 'status=open', 'status=lost'].concat(
  ['referrer=Phone', 'postcode=M1', 'created_from=2001-01-01T00:00:00Z', 'sort=updated_at', 'test=0'],
  ['updated_since=2001-01-01T00:00:00Z', 'q=ada', 'q=byron&status=open', 'cursor=&status=lost'],
)

const managedListQueries = ({ userId }: World) => [
  'page=1',
  'cursor=',
  'status=lost',
  'user_id=none',
  `user_id=${userId}`,
  'due=overdue',
  'due=week&status=open',
]

const deliveryQueries = ({ endpoints }: World) => [
  'page=1',
  'page=100',
  'cursor=',
  'failed=true',
  'cursor=&error=tls',
  'type=lead.created',
  'status=exhausted&error=timeout',
  'from=2001-01-01T00:00:00Z&to=2999-01-01T00:00:00Z&failed=false',
  ...Object.entries(endpoints).flatMap(([status, id]) => [
    `status=${status}`,
    `endpoint_id=${id}`,
    `endpoint_id=${id}&status=${status}`,
    `endpoint_id=${id}&status=cancelled`,
    `cursor=&endpoint_id=${id}`,
  ]),
]

const scheduleQueries = ({ userId }: World) =>
  ['open', 'done', 'all'].flatMap((state) => [`state=${state}`, `state=${state}&user_id=${userId}`])

const eventQueries = async () => {
  const [middle] = await webhooks.rows<{ place: string }>(
    `SELECT number || '.' || id AS place FROM events
     WHERE account_id = $1 AND number = (SELECT last / 2 FROM event_counters WHERE account_id = $1)`,
    [system.account.id],
  )
  const after = `after=${Buffer.from(middle!.place).toString('base64url')}`
  return [
    '',
    'after=now',
    'types=attachment.added',
    after,
    `${after}&limit=100`,
    `${after}&types=lead.erased`,
  ]
}

/** Sends one of each request whose cost must not depend on the size of the account. */
const use = async (world: World) => {
  const { endpoints, userId } = world
  for (const query of listQueries) await data('GET', `/leads?${query}`)
  for (const query of managedListQueries(world)) await data('GET', `/manage/leads?${query}`)
  for (const query of deliveryQueries(world)) await data('GET', `/manage/deliveries?${query}`)
  for (const query of scheduleQueries(world)) await data('GET', `/manage/schedule?${query}`)
  for (const query of await eventQueries()) await data('GET', `/manage/events?${query}`)
  const path = `/leads/${(await data<{ reference: string }>('POST', '/leads', NEW_LEAD)).reference}`
  await data('GET', path)
  // All filled leads have the same telephone number.
  const suspects = await data<{ reference: string }[]>('GET', `/manage${path}/duplicates`)
  expect(suspects).toHaveLength(20)
  const { reference: original } = suspects.at(-1)!
  for (const reference of [original, null]) await data('POST', `/manage${path}/duplicate-of`, { reference })
  await data('PATCH', path, { status: 'sold', name: 'Bay', user_id: userId })
  await data('PATCH', `/manage${path}`, { last_name: 'King', external_id: path })
  await data('POST', '/manage/leads/bulk', { references: [path.split('/').at(-1)], set: { user_id: null } })
  const entry = { user_id: userId, notify: false, remind: true, date: '01/06/2198 10:00' }
  for (const list of ['appointments', 'callbacks']) {
    const { id } = await data<{ id: number }>('POST', `${path}/${list}`, entry)
    await data('PATCH', `${path}/${list}/${id}`, { date: '02/06/2198 10:00' })
    if (list === 'callbacks') await takeDueEvents(1)
    await data('PATCH', `${path}/${list}/${id}`, { done: true })
  }
  for (const list of ['appointments', 'callbacks', 'attachments']) await data('GET', `${path}/${list}`)
  const note = await data<{ id: number }>('POST', `/manage${path}/notes`, { text: 'Wants oak.' })
  await data('PATCH', `/manage${path}/notes/${note.id}`, { text: 'Wants pine.' })
  await data('GET', `/manage${path}/notes`)
  await data('DELETE', `/manage${path}/notes/${note.id}`)
  await data('GET', `/manage${path}/history`)
  for (const query of ['', '?group_by=referrer,status']) await data('GET', `/manage/figures${query}`)
  await data('GET', `/manage/deliveries?lead_reference=${path.split('/').at(-1)}`)
  for (const list of [
    'users',
    'tokens',
    'webhook-endpoints',
    'webhook-endpoint-health',
    'audit',
    'notifications',
  ])
    await data('GET', `/manage/${list}`)
  for (const id of Object.values(endpoints)) await data('GET', `/manage/webhook-endpoints/${id}`)
  const [newest] = await data<{ id: number }[]>(
    'GET',
    `/manage/deliveries?endpoint_id=${endpoints.delivered}`,
  )
  await data('GET', `/manage/deliveries/${newest!.id}`)
  for (const enabled of [false, true])
    await data('PATCH', `/manage/webhook-endpoints/${endpoints.pending}`, { enabled })
  // A change of an endpoint moves its deliveries in the background, and each move leaves a dead row. Waits
  // for the moves and removes the dead rows, because later statements would touch these rows.
  await eventually(async () => expect(await webhooks.rows('SELECT FROM endpoint_syncs')).toEqual([]), {
    timeoutMs: 60_000,
  })
  await vacuum(webhooks, ['deliveries'])
}

const RUNNING_REPLAYS = `SELECT FROM replays WHERE state = 'running'`

const finished = async (path: string) =>
  eventually(
    async () => expect(await data('GET', path)).toMatchObject({ finished_at: expect.stringContaining('T') }),
    { timeoutMs: 60_000 },
  )

/** Counts all events of the log with a dry run, and then replays the last hundred events to the endpoint. */
const replay = async (endpoint: string) => {
  const since = { from: '2001-01-01T00:00:00Z', to: '2999-01-01T00:00:00Z', types: ['lead.created'] }
  const counted = await data<{ id: number }>('POST', `${endpoint}/replay`, { ...since, dry_run: true })
  const path = `${endpoint}/replay/${counted.id}`
  const matched = await eventually(
    async () => {
      const found = await data<{ state: string; matched: number }>('GET', path)
      expect(found.state).toBe('counted')
      return found.matched
    },
    { timeoutMs: 60_000 },
  )
  expect(matched).toBeGreaterThan(SMALL)
  await data('DELETE', path)
  const [last] = await webhooks.rows<{ last: number }>('SELECT last FROM event_counters')
  await data('POST', `${endpoint}/replay`, { after_sequence: Number(last!.last) - 100 })
  await eventually(async () => expect(await webhooks.rows(RUNNING_REPLAYS)).toEqual([]), {
    timeoutMs: 60_000,
  })
}

/**
 * Runs an import. Creates an endpoint with failed deliveries, recovers the deliveries, replays events to the
 * endpoint and deletes it. Then exports and erases a lead.
 */
const manage = async () => {
  const body = renderCsv(['Sash', 'Dormer', ''])
  const headers = { 'content-type': 'text/csv' }
  const sent = await client.request<{ data: { id: number } }>('POST', '/manage/imports', { body, headers })
  const path = `/manage/imports/${sent.json.data.id}`
  await finished(path)
  await data('GET', `${path}/errors`)
  await download(`${path}/failed-rows`)

  const { ids } = await fillEndpoints(webhooks, {
    accountId: system.account.id,
    count: 1,
    url: 'http://127.0.0.1:1/',
    encryptionKeys: encryptionKeys(),
  })
  const target = { leads, webhooks, assetsUrl: `${system.baseUrl}/assets` }
  await fillDeliveries(target, { endpointId: ids[0]!, count: 50, status: 'exhausted' })
  const endpoint = `/manage/webhook-endpoints/${ids[0]}`
  await data('POST', `${endpoint}/recover`, { since: '2000-01-01T00:00:00Z', state: 'all' })
  await eventually(async () => expect(await webhooks.rows(RUNNING_REPLAYS)).toEqual([]), {
    timeoutMs: 60_000,
  })
  await replay(endpoint)
  // Removes the dead index entries that manual attempts and cancelled deliveries leave.
  await vacuum(webhooks, ['deliveries'])
  await data('DELETE', endpoint)
  await eventually(async () => expect(await webhooks.rows('SELECT FROM endpoint_syncs')).toEqual([]))
  await vacuum(webhooks, ['deliveries'])

  const { reference } = await data<{ reference: string }>('POST', '/leads', NEW_LEAD)
  await data('GET', `/manage/leads/${reference}/export`)
  await download(`/manage/persons/export?email=${NEW_LEAD.email}`)
  await data('POST', `/manage/leads/${reference}/erase`)
  await finished(`/manage/leads/${reference}/erasure`)
}

/**
 * By the id of a statement: its text, how many buffer pages an execution touches and how many rows it
 * returns, on average. The id is the key, because pg_stat_statements may list a text with or without its
 * constants.
 */
type Touched = Map<string, { query: string; touched: number; rows: number }>

const touchedByUse = async (world: World): Promise<Touched> => {
  const reset =
    'SELECT pg_stat_statements_reset(0, (SELECT oid FROM pg_database WHERE datname = current_database()))'
  for (const sql of [leads, webhooks]) await sql.rows(reset)
  for (let time = 0; time < TIMES; time += 1) {
    await use(world)
    if (time % 2 === 0) await manage()
    // More events than the loop takes at once.
    await takeDueEvents(1100)
    // Otherwise the loops might work on several rounds together, and run too few statements.
    await waitUntilIndexed()
  }
  await download('/manage/exports')
  await download('/manage/exports?status=open&referrer=Phone')
  const read = async (sql: Sql) =>
    sql.rows<{ id: string; query: string; touched: number; rows: number }>(`
      SELECT queryid::text AS id, min(query) AS query,
        sum(shared_blks_hit + shared_blks_read)::float / sum(calls) AS touched, sum(rows)::float / sum(calls) AS rows
      FROM pg_stat_statements
      WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query !~ 'pg_stat_statements|^VACUUM'
      GROUP BY 1 HAVING sum(calls) >= 3`)
  const all = [...(await read(leads)), ...(await read(webhooks))]
  return new Map(all.map(({ id, ...one }) => [id, one]))
}

test(
  `no statement touches more pages with ${LARGE} leads and deliveries than with ${SMALL}`,
  async () => {
    const make = async () =>
      (
        await fillEndpoints(webhooks, {
          accountId: system.account.id,
          count: 4,
          url: 'http://127.0.0.1:1/',
          encryptionKeys: encryptionKeys(),
        })
      ).ids
    const [delivered, pending, held, exhausted] = (await make()) as [number, number, number, number]
    const { id: userId } = await data<{ id: number }>('POST', '/manage/users', {
      email: 'a@example.com',
      name: 'A',
    })
    const world: World = { endpoints: { delivered, pending, held, exhausted }, userId }
    await grow(world, SMALL)
    await use(world)
    const small = await touchedByUse(world)
    await grow(world, LARGE - SMALL)
    await use(world)
    const large = await touchedByUse(world)
    const known = [...large].flatMap(([id, { query, ...after }]) => {
      const before = small.get(id)
      return before ? [{ query, before, after }] : []
    })
    expect(known.length).toBeGreaterThan(60)
    for (const part of [
      /FROM lead_search s\b/,
      /l\.event_id IS NOT NULL AND l\.erased_at IS NULL/,
      /l\.duplicate_of_id/,
      /DELETE FROM daily_figures/,
      /INSERT INTO lead_figures/,
      /WITH RECURSIVE walked/,
      /DELETE FROM due_events WHERE ctid/,
      /UPDATE callbacks AS t SET due_date/,
    ])
      expect([part, known.some(({ query }) => part.test(query))]).toEqual([part, true])
    // The large account has three times as many rows, so a statement that reads all rows touches three times
    // as many pages. The limit (twice as many, and 40 more) allows for one more index level in each lookup,
    // for larger batches, and for lists that reach their maximum of 10,000 rows only in the large account.
    const grown = known.filter(
      ({ before, after }) =>
        after.touched > 2 * before.touched * Math.max(1, after.rows / Math.max(1, before.rows)) + 40,
    )
    expect(
      grown.map(
        ({ query, before, after }) =>
          `${Math.round(before.touched)} → ${Math.round(after.touched)}: ${query}`,
      ),
    ).toEqual([])
  },
  300_000 + LARGE * 5,
)
