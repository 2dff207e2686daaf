import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import {
  eventually,
  type Receiver,
  type System,
  startReceiver,
  startSystem,
  type TestDatabase,
} from '@leadwire/test-kit'
import { Client } from 'pg'

const MAIN = resolve(__dirname, '../../../leadwire/dist/main.js')

const LEAD = {
  name: 'Bay',
  first_name: 'Ada',
  last_name: 'Byron',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

interface Finding {
  kind: string
  lead_reference: string | null
  event_id: string | null
  delivery_id: number | null
}

let system: System
let receiver: Receiver

beforeAll(async () => {
  // Disables the reconciliation loop, so that only the command checks leads and finds errors.
  system = await startSystem({ env: { RECONCILE_INTERVAL: 'off' } })
  receiver = await startReceiver()
})
afterAll(async () => {
  await system?.stop()
  await receiver?.stop()
})

const sql = async <Row extends object>({ url }: TestDatabase, text: string, values: unknown[] = []) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}
const leadsSql = <Row extends object>(text: string, ...values: unknown[]) =>
  sql<Row>(system.databases.leads, text, values)
const webhooksSql = <Row extends object>(text: string, ...values: unknown[]) =>
  sql<Row>(system.databases.webhooks, text, values)

/** Makes the check of a lead's events due now. Normally the check is due ten seconds after the event. */
const checkAtOnce = (reference: string) =>
  leadsSql('UPDATE outbox SET next_check_at = clock_timestamp() WHERE lead_reference = $1', reference)

/** Runs the command. Returns its output and exit code. */
const leadwire = (...args: string[]) => {
  const findGrpc = (wanted: string) => system.services.find(({ service }) => service === wanted)!.grpc!
  const env = {
    ...process.env,
    LEADS_SERVICE_URL: findGrpc('leads-service'),
    WEBHOOK_SERVICE_URL: findGrpc('webhook-service'),
    SERVICE_TOKEN: system.serviceToken,
  }
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolved) => {
    execFile(process.execPath, [MAIN, ...args], { env }, (error, stdout, stderr) =>
      resolved({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}

const reconcile = async (...args: string[]) => {
  const { code, stdout, stderr } = await leadwire('reconcile', '--json', ...args)
  expect(stderr).toBe('')
  return { code, ...(JSON.parse(stdout) as { events_held: number; unexplained: Finding[] }) }
}

/** Creates an account with two endpoints. */
const newAccount = async () => {
  const { account, token } = await system.createAccount('Spec')
  const ask = async (method: string, path: string, content?: object | string) => {
    const isText = typeof content === 'string'
    const headers = {
      authorization: `Bearer ${token}`,
      ...(content && { 'content-type': isText ? 'text/csv' : 'application/json' }),
    }
    const body = isText ? content : content && JSON.stringify(content)
    return fetch(`${system.baseUrl}${path}`, { method, headers, ...(body && { body }) })
  }
  for (const path of ['one', 'two']) {
    const made = await ask('POST', '/manage/webhook-endpoints', { url: `${receiver.url}/${path}` })
    expect(made.status).toBe(200)
  }
  const create = async (): Promise<string> => {
    const answer = await ask('POST', '/leads', LEAD)
    expect(answer.status).toBe(200)
    return ((await answer.json()) as { data: { reference: string } }).data.reference
  }
  return {
    id: account.id,
    ask,
    create,
    /**
     * Creates a lead. Waits until both of its deliveries have had `attempts` attempts and its event is no
     * longer in the outbox.
     */
    createSettled: async (attempts = 1): Promise<string> => {
      const reference = await create()
      await eventually(async () => {
        await checkAtOnce(reference)
        const made = 'SELECT FROM deliveries WHERE lead_reference = $1 AND attempt_count = $2'
        expect(await webhooksSql(made, reference, attempts)).toHaveLength(2)
        expect(await leadsSql('SELECT FROM outbox WHERE lead_reference = $1', reference)).toEqual([])
      })
      return reference
    },
    reconcile: (...args: string[]) => reconcile('--account', String(account.id), ...args),
    expectClean: async (...args: string[]) =>
      expect(await reconcile('--account', String(account.id), ...args)).toMatchObject({
        code: 0,
        unexplained_count: 0,
        unexplained: [],
      }),
    page: async () =>
      ((await (await ask('GET', '/manage/reconciliation')).json()) as { data: Record<string, unknown> }).data,
  }
}

beforeEach(() => receiver.answerWith({ status: 200 }))

test('a healthy stack has no findings; new leads are counted once, and all leads with --full', async () => {
  const account = await newAccount()
  for (let count = 0; count < 3; count += 1) await account.createSettled()
  const first = await account.reconcile()
  expect(first).toMatchObject({ code: 0, leads: 3, events_held: 3, delivered: 6, pending: 0 })
  expect(first.unexplained).toEqual([])
  expect(await account.reconcile()).toMatchObject({ code: 0, leads: 0 })
  await account.createSettled()
  expect(await account.reconcile()).toMatchObject({ code: 0, leads: 1, events_held: 1, delivered: 2 })
  const full = await account.reconcile('--full')
  expect(full).toMatchObject({ code: 0, leads: 4, events_held: 4, delivered: 8, unexplained_count: 0 })
  expect(await reconcile('--full')).toMatchObject({ code: 0, unexplained: [] })
  const { stdout, code } = await leadwire('reconcile', '--account', String(account.id))
  expect([stdout, code]).toEqual([
    expect.stringMatching(
      /^leads: 0 since the last check \(--full checks all\)$[\s\S]*^unexplained_count: 0$/m,
    ),
    0,
  ])
  expect(await account.page()).toMatchObject({ leads: 4, checked_leads: 4, unexplained: [] })
})

test('a check continues after leads-service was killed and restarted', async () => {
  await (await newAccount()).createSettled()
  const client = new Client({ connectionString: system.databases.leads.url })
  await client.connect()
  try {
    // Locks a table that the last batch of a check writes, so that the check is still running at the kill.
    await client.query('BEGIN')
    await client.query('SELECT FROM reconciliation FOR UPDATE')
    const checked = reconcile('--full')
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await eventually(async () => expect(await leadsSql(waiting)).toHaveLength(1))
    await system.kill('leads-service')
    await client.query('ROLLBACK')
    await system.restart('leads-service')
    expect(await checked).toMatchObject({ code: 0, unexplained_count: 0 })
  } finally {
    await client.end()
  }
})

test('leads without an event, an erased lead, and held and cancelled deliveries are explained', async () => {
  const account = await newAccount()
  const erased = await account.createSettled()
  expect((await account.ask('POST', `/manage/leads/${erased}/erase`)).status).toBeLessThan(300)
  receiver.answerWith({ status: 500 })
  await account.createSettled()
  const endpoints = (await (await account.ask('GET', '/manage/webhook-endpoints')).json()) as {
    data: { id: number }[]
  }
  const [one, two] = endpoints.data.map(({ id }) => `/manage/webhook-endpoints/${id}`)
  expect((await account.ask('PATCH', one!, { enabled: false })).status).toBe(200)
  expect((await account.ask('DELETE', two!)).status).toBe(200)
  // Fills the account up to 500 leads, which is exactly one batch.
  const rows = Array.from({ length: 498 }, () => Object.values(LEAD))
  const csv = [Object.keys(LEAD), ...rows].map((row) => row.join()).join('\n')
  expect((await account.ask('POST', '/manage/imports', csv)).status).toBe(202)
  await eventually(async () =>
    expect(await account.reconcile('--full')).toMatchObject({
      code: 0,
      leads: 500,
      leads_erased: 1,
      leads_without_event: 498,
      events_held: 1,
      held: 1,
      cancelled: 1,
      delivered: 2,
    }),
  )
})

test('a lost event is listed until it is restored', async () => {
  const account = await newAccount()
  const reference = await account.createSettled()
  await webhooksSql('CREATE TABLE IF NOT EXISTS lost AS SELECT * FROM events WHERE false')
  await webhooksSql(
    'WITH gone AS (DELETE FROM events WHERE lead_reference = $1 RETURNING *) INSERT INTO lost SELECT * FROM gone',
    reference,
  )
  const error = { kind: 'event_missing', account_id: account.id, lead_number: 1, lead_reference: reference }
  const found = await account.reconcile()
  expect(found).toMatchObject({ code: 1, unexplained_count: 1, unexplained: [error] })
  // The next check reads only later leads, and lists the lost event nevertheless.
  expect(await account.reconcile()).toMatchObject({ code: 1, leads: 0, unexplained: [error] })
  // The event stays in the list when its lead is older than the retention period of events.
  await leadsSql(
    `UPDATE leads SET created_at = created_at - interval '400 days' WHERE reference = $1`,
    reference,
  )
  expect(await account.reconcile()).toMatchObject({ code: 1, unexplained: [error] })
  expect(await account.page()).toMatchObject({
    unexplained_count: 1,
    checked_leads: 1,
    unexplained: [
      { kind: 'event_missing', lead_reference: reference, event_id: found.unexplained[0]!.event_id },
    ],
  })
  const other = await newAccount()
  expect(await other.page()).toMatchObject({ unexplained_count: 0, unexplained: [] })
  const { stdout, code } = await leadwire('reconcile')
  expect([stdout, code]).toEqual([expect.stringContaining(reference), 1])
  await webhooksSql('INSERT INTO events SELECT * FROM lost WHERE lead_reference = $1', reference)
  await account.expectClean()
})

test('an outbox row that is lost before its publication is listed at once, and a waiting row once it is late', async () => {
  const account = await newAccount()
  await system.nats.kill()
  try {
    const [waiting, lost] = [await account.create(), await account.create()]
    await leadsSql('DELETE FROM outbox WHERE lead_reference = $1', lost)
    const young = await account.reconcile()
    expect(young).toMatchObject({ code: 1, leads: 2, events_on_their_way: 1, unexplained_count: 1 })
    expect(young.unexplained).toMatchObject([{ kind: 'event_missing', lead_reference: lost }])
    await leadsSql(`UPDATE outbox SET
      created_at = created_at - interval '1 minute', next_check_at = next_check_at - interval '1 minute'`)
    const late = await account.reconcile()
    expect(late.unexplained).toMatchObject([
      { kind: 'event_waiting', lead_reference: waiting },
      { kind: 'event_missing', lead_reference: lost },
    ])
    expect(await account.page()).toMatchObject({ leads: 2, checked_leads: 0 })
    await leadsSql(
      `UPDATE outbox SET next_check_at = NULL, refusal = 'a broken part' WHERE lead_reference = $1`,
      waiting,
    )
    expect((await account.reconcile()).unexplained).toMatchObject([
      { kind: 'event_waiting', detail: 'webhook-service refused the event: a broken part' },
      { kind: 'event_missing' },
    ])
    const { stdout } = await leadwire('outbox', 'retry', '--account', String(account.id), '--json')
    expect(JSON.parse(stdout)).toEqual({ released_events: 1 })
  } finally {
    await system.nats.restart()
  }
  await eventually(async () => {
    const { unexplained, events_held } = await account.reconcile()
    expect([events_held, unexplained.map(({ kind }) => kind)]).toEqual([1, ['event_missing']])
  })
  expect(await account.page()).toMatchObject({ leads: 2, checked_leads: 2 })
})

test('a lost delivery is listed, both of lead.created and of a later event', async () => {
  const account = await newAccount()
  const reference = await account.createSettled()
  await account.reconcile()
  await webhooksSql(
    'DELETE FROM deliveries WHERE id = (SELECT max(id) FROM deliveries WHERE lead_reference = $1)',
    reference,
  )
  await account.expectClean()
  const { unexplained, code } = await account.reconcile('--full')
  expect([code, unexplained]).toMatchObject([1, [{ kind: 'deliveries_missing', lead_reference: reference }]])
  await webhooksSql('UPDATE events SET fan_out = 1 WHERE lead_reference = $1', reference)
  await account.expectClean()
  expect((await account.ask('PATCH', `/leads/${reference}`, { value: 7 })).status).toBe(200)
  const ofUpdate = `FROM events WHERE lead_reference = $1 AND type = 'lead.updated'`
  await eventually(async () => expect(await webhooksSql(`SELECT ${ofUpdate}`, reference)).toHaveLength(1))
  await account.expectClean('--full')
  await webhooksSql(`UPDATE events SET fan_out = 1 WHERE id IN (SELECT id ${ofUpdate})`, reference)
  expect((await account.reconcile('--full')).unexplained).toMatchObject([{ kind: 'deliveries_missing' }])
})

test('wrong figures are listed with --full', async () => {
  const account = await newAccount()
  await account.createSettled()
  await eventually(async () =>
    expect(await leadsSql('SELECT FROM daily_figures WHERE account_id = $1', account.id)).toHaveLength(1),
  )
  expect(await account.reconcile('--full')).toMatchObject({ code: 0, wrong_figures: [] })
  await leadsSql('UPDATE daily_figures SET created = created + 1 WHERE account_id = $1', account.id)
  await account.expectClean()
  const wrong = {
    account: account.id,
    differing_leads: [],
    differing_days: [expect.stringMatching(/^\d{4}-/)],
  }
  expect(await account.reconcile('--full')).toMatchObject({
    code: 1,
    unexplained_count: 0,
    wrong_figures: [wrong],
  })
  const { stdout } = await leadwire('reconcile', '--full', '--account', String(account.id))
  expect(stdout).toMatch(/^account +checked_leads +checked_days +differing_leads +differing_days$/m)
})

test('a lost lead is listed by its number', async () => {
  const account = await newAccount()
  await account.createSettled()
  await leadsSql('UPDATE accounts SET lead_count = lead_count + 2 WHERE id = $1', account.id)
  await account.create()
  const { unexplained, code } = await account.reconcile()
  expect([code, unexplained]).toMatchObject([1, [{ kind: 'lead_missing', lead_number: 2 }]])
})

test('an event that a filter excluded is no finding, even after the filter changed; a lost delivery is one', async () => {
  const account = await newAccount()
  const endpoints = await account.ask('GET', '/manage/webhook-endpoints')
  const { data } = (await endpoints.json()) as { data: { id: number }[] }
  const [one, two] = data.map(({ id }) => async (filter: object | null) => {
    expect((await account.ask('PATCH', `/manage/webhook-endpoints/${id}`, { filter })).status).toBe(200)
  })
  const createAndFind = async () => {
    const reference = await account.create()
    await eventually(async () => {
      await checkAtOnce(reference)
      const made = 'SELECT FROM deliveries WHERE lead_reference = $1 AND attempt_count = 1'
      expect(await webhooksSql(made, reference)).toHaveLength(1)
      expect(await leadsSql('SELECT FROM outbox WHERE lead_reference = $1', reference)).toEqual([])
    })
    return reference
  }
  await two!({ status: ['sold'] })
  await createAndFind()
  expect(await account.reconcile()).toMatchObject({ code: 0, leads: 1, delivered: 1, unexplained: [] })
  for (const [first, second] of [
    [{ status: ['sold'] }, null],
    [{ status: ['sold'] }, { status: ['open'] }],
  ] as const) {
    await one!(first)
    await two!(second)
    await account.expectClean('--full')
  }
  const reference = await createAndFind()
  await webhooksSql('DELETE FROM deliveries WHERE lead_reference = $1', reference)
  const { code, unexplained } = await account.reconcile('--full')
  expect([code, unexplained]).toMatchObject([1, [{ kind: 'deliveries_missing', lead_reference: reference }]])
})

describe('an open delivery that will not be attempted is listed', () => {
  const createPending = async (account: Awaited<ReturnType<typeof newAccount>>) => {
    receiver.answerWith({ status: 500 })
    const reference = await account.createSettled()
    const [row] = await webhooksSql<{ id: string; next_attempt_at: Date }>(
      'SELECT id, next_attempt_at FROM deliveries WHERE lead_reference = $1 ORDER BY id LIMIT 1',
      reference,
    )
    await account.expectClean()
    return { ...row!, id: Number(row!.id) }
  }
  const set = (id: number, change: string) => webhooksSql(`UPDATE deliveries SET ${change} WHERE id = $1`, id)

  test('if it is due beyond the schedule', async () => {
    const account = await newAccount()
    const { id } = await createPending(account)
    const client = new Client({ connectionString: system.databases.webhooks.url })
    await client.connect()
    try {
      // Locks the row, because webhook-service would correct the time within ten seconds.
      await client.query(`
        UPDATE deliveries SET next_attempt_at = next_attempt_at + interval '1 day' WHERE id = ${id};
        COMMIT;
        BEGIN;
        SELECT FROM deliveries WHERE id = ${id} FOR UPDATE`)
      const { unexplained, code } = await account.reconcile()
      expect([code, unexplained]).toMatchObject([1, [{ kind: 'delivery_beyond_schedule', delivery_id: id }]])
    } finally {
      await client.end()
    }
    await eventually(() => account.expectClean())
  })

  test('if it is claimed for too long', async () => {
    const account = await newAccount()
    const { id } = await createPending(account)
    await set(
      id,
      `claim = 1, claimed_until = now() + interval '70 seconds', next_attempt_at = now() - interval '3 minutes'`,
    )
    // Workers claim a delivery for 14 seconds, but honour any claim that ends within 74 seconds. This claim
    // ends in 70 seconds, so no worker attempts this delivery. The delivery is not overdue yet, because its
    // endpoint was changed recently.
    await account.expectClean()
    await webhooksSql(`UPDATE endpoints SET updated_at = now() - interval '1 hour'`)
    const { unexplained, code } = await account.reconcile()
    expect([code, unexplained]).toMatchObject([1, [{ kind: 'delivery_overdue', delivery_id: id }]])
  })

  test('if it is held at an enabled endpoint', async () => {
    const account = await newAccount()
    const { id } = await createPending(account)
    await set(id, `status = 'held'`)
    await webhooksSql(`UPDATE endpoints SET updated_at = now() - interval '1 hour'`)
    const { unexplained, code } = await account.reconcile()
    expect([code, unexplained]).toMatchObject([1, [{ kind: 'delivery_held', delivery_id: id }]])
    const client = new Client({ connectionString: system.databases.webhooks.url })
    await client.connect()
    try {
      // A held delivery is no finding while a sync of its endpoint is due. The locked row delays this sync.
      await client.query('BEGIN')
      await client.query('SELECT FROM deliveries WHERE id = $1 FOR UPDATE', [id])
      await webhooksSql('INSERT INTO endpoint_syncs SELECT endpoint_id FROM deliveries WHERE id = $1', id)
      await account.expectClean()
    } finally {
      await client.end()
    }
    await account.expectClean()
  })
})

test('an account after more accounts than a batch has is checked once', async () => {
  const others = `
    INSERT INTO accounts (name, api_key)
    SELECT 'Other', rpad(gen_random_uuid()::text, 50, 'x') FROM generate_series(1, (SELECT 1000 - count(*) FROM accounts))`
  await leadsSql(others)
  const account = await newAccount()
  await account.createSettled()
  await account.createSettled()
  await eventually(async () => {
    await reconcile()
    expect(await account.page()).toMatchObject({ checked_leads: 2 })
    expect(await reconcile()).toMatchObject({ leads: 0 })
  })
})

test('the loop checks all accounts, and reports its time and its findings as metrics', async () => {
  const account = await newAccount()
  const reference = await account.createSettled()
  await webhooksSql('DELETE FROM events WHERE lead_reference = $1', reference)
  expect(await account.page()).toMatchObject({ checked_leads: 0, unexplained: [] })
  const service = system.services.find(({ name }) => name === 'leads-service')!
  Object.assign(service.env, { RECONCILE_INTERVAL: '1s' })
  await system.restart('leads-service')
  const begun = new Date().toISOString()
  await eventually(async () => {
    const page = await account.page()
    expect(page).toMatchObject({ checked_leads: 1, unexplained: [{ lead_reference: reference }] })
    expect(String(page['finished_at']) > begun).toBe(true)
  })
  // The first check of all accounts may still be running.
  await eventually(async () => {
    const metrics = await (await fetch(`${service.health}/metrics`)).text()
    expect(metrics).toMatch(/^leadwire_unexplained{kind="event_missing",[^}]*} [1-9]/m)
    expect(metrics).toMatch(/^leadwire_unexplained{kind="lead_missing",[^}]*} \d/m)
    expect(metrics).toMatch(/^leadwire_reconciliation_timestamp_seconds{[^}]*} [1-9]/m)
  })
})
