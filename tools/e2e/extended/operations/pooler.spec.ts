import { eventually, findPooler, startPooler, type TestPooler } from '@leadwire/test-kit'
import { Client } from 'pg'
import { createImports, renderCsv } from '../../support/imports'
import { type Stage, startStage, type Tenant } from '../../support/stage'

const SIZE = 4

// Settings that PgBouncer itself restores for each client.
const TRACKED = [
  'application_name',
  'client_encoding',
  'DateStyle',
  'standard_conforming_strings',
  'TimeZone',
]

const found = findPooler()
if ('reason' in found) console.warn(`SKIPPED: the specs of PgBouncer. ${found.reason}.`)

;('reason' in found ? describe.skip : describe)('through PgBouncer in transaction mode', () => {
  let pooler: TestPooler
  let stage: Stage
  let tenant: Tenant
  let direct: Client

  beforeAll(async () => {
    pooler = await startPooler({ ...(found as { binary: string }), size: SIZE })
    stage = await startStage({ replicas: 2, pooler, env: { RECONCILE_INTERVAL: '1s' } })
    tenant = await stage.newTenant()
    direct = new Client({ connectionString: stage.system.databases.leads.url })
    await direct.connect()
  })
  afterAll(async () => {
    await direct?.end()
    await stage?.stop()
    await pooler?.stop()
  })

  test('all features that use the database work, and webhooks and notifications arrive', async () => {
    const { receiver } = await tenant.listen({ events: ['lead.created', 'lead.updated', 'lead.erased'] })
    const told = (events: number) => eventually(() => expect(receiver.requests).toHaveLength(events))
    const user = await tenant.send('POST', '/manage/users', {
      json: { email: 'sam@example.com', name: 'Sam' },
    })
    const { reference } = await tenant.createLead({ name: 'Conservatory' })
    await told(1)
    await tenant.send('PATCH', `/leads/${reference}`, {
      json: { status: 'sold', user_email: 'sam@example.com', notify: true },
    })
    await told(2)
    await tenant.send('POST', `/leads/${reference}/appointments`, {
      json: { notify: true, user_id: user.id, date: '01/02/2030 10:00' },
    })
    await tenant.send('POST', `/leads/${reference}/attachments`, {
      multipart: [
        { name: 'name', value: 'Survey' },
        { name: 'file', value: 'One door.', fileName: 'survey.txt', type: 'text/plain' },
      ],
    })
    await eventually(async () => {
      const sent = await tenant.send<{ status: string }[]>('GET', '/manage/notifications')
      expect(sent.map(({ status }) => status)).toEqual(['delivered', 'delivered'])
    })
    for (const query of ['status=sold', 'q=conserv', 'updated_since=2026-01-01T00:00:00Z'])
      await eventually(async () =>
        expect(await tenant.send('GET', `/leads?${query}`)).toMatchObject([{ reference }]),
      )
    const imports = createImports(tenant)
    const names = Array.from({ length: 250 }, (_, index) => `Lead ${index + 1}`)
    expect(await imports.run(renderCsv(names))).toMatchObject({ state: 'finished', rows_created: 250 })
    expect(await imports.leads()).toHaveLength(251)
    const since = new Date().toISOString()
    await eventually(
      async () => {
        const page = await tenant.send<{ finished_at: string }>('GET', '/manage/reconciliation')
        expect(page).toMatchObject({ unexplained_count: 0 })
        expect(page.finished_at > since).toBe(true)
      },
      { timeoutMs: 60_000 },
    )
    await tenant.client.request('POST', `/manage/leads/${reference}/erase`)
    await eventually(
      async () =>
        expect(await tenant.send('GET', `/manage/leads/${reference}/erasure`)).toMatchObject({
          status: 'done',
        }),
      { timeoutMs: 60_000 },
    )
    await told(3)
  }, 180_000)

  test('under load two copies of each service share few connections, and every webhook arrives', async () => {
    const { receiver } = await tenant.listen()
    const created = await Promise.all(Array.from({ length: 300 }, () => tenant.createLead()))
    await eventually(() => expect(receiver.requests).toHaveLength(created.length), { timeoutMs: 60_000 })
    const { rows } = await direct.query(
      'SELECT datname, count(*)::int FROM pg_stat_activity WHERE datname = ANY ($1) AND pid <> pg_backend_pid() GROUP BY 1',
      [Object.values(stage.system.databases).map(({ name }) => name)],
    )
    expect(rows).toHaveLength(2)
    for (const { count } of rows) expect(count).toBeLessThanOrEqual(SIZE)
    const clients = await pooler.show('SHOW CLIENTS')
    const ofWebhooks = clients.filter(({ database }) => database === stage.system.databases.webhooks.name)
    expect(ofWebhooks.length).toBeGreaterThan(SIZE)
    expect(ofWebhooks.length).toBeLessThanOrEqual(2 * 15)
  })

  test('sessions keep no settings, locks or temporary tables', async () => {
    for (const { url } of Object.values(stage.system.databases)) {
      const clients = await Promise.all(
        Array.from({ length: SIZE }, async () => {
          const client = new Client({ connectionString: pooler.through(url) })
          await client.connect()
          return client
        }),
      )
      const ask = async (client: Client, text: string) => (await client.query<{ name: string }>(text)).rows
      const left = clients.map((client) =>
        ask(
          client,
          `SELECT name FROM pg_settings, pg_sleep(0.2) WHERE source = 'session' AND name !~ '^transaction_'
           UNION ALL SELECT objid::text FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
           UNION ALL SELECT relname FROM pg_class WHERE relpersistence = 't'`,
        ),
      )
      const names = (await Promise.all(left)).flat().map(({ name }) => name)
      expect(names.filter((name) => !TRACKED.includes(name))).toEqual([])
      await Promise.all(clients.map((client) => client.end()))
    }
  })
})
