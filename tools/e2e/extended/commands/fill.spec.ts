import { leadJsonFormat } from '@leadwire/contracts'
import { openSql, runFill, type Sql } from '@leadwire/fill'
import { eventually, type Receiver, type System, startReceiver, startSystem } from '@leadwire/test-kit'

const LEAD = {
  name: 'Bay window',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

interface Page {
  total: number
  last_page: number
  data: { id: number; reference: string; created_at: string }[]
}

interface Delivery {
  id: number
  status: string
  lead_reference: string
  attempt_count: number
  attempts: { number: number; status: number; error: string | null }[]
  request: { body: string }
}

let system: System
let stack: { leads: Sql; webhooks: Sql; assetsUrl: string; encryptionKeys: string }
let receiver: Receiver

beforeAll(async () => {
  system = await startSystem()
  receiver = await startReceiver()
  stack = {
    leads: openSql(system.databases.leads.url),
    webhooks: openSql(system.databases.webhooks.url),
    assetsUrl: system.services[0]!.env['ASSETS_URL']!,
    encryptionKeys: readSettings('webhook-service')['ENCRYPTION_KEYS']!,
  }
})

const readSettings = (name: string) => system.services.find(({ service }) => service === name)!.env

afterAll(async () => {
  await Promise.all([stack?.leads.close(), stack?.webhooks.close(), receiver?.stop()])
  await system?.stop()
})

const fill = <T>(...args: unknown[]) => runFill(args.map(String), stack) as Promise<T>

const sendForText = async (token: string, path: string, init: RequestInit = {}): Promise<string> => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${system.baseUrl}${path}`, { headers, ...init })
  if (!answer.ok) throw new Error(`the response to ${path} was ${answer.status} ${await answer.text()}`)
  return answer.text()
}

const send = async <T>(...asked: Parameters<typeof sendForText>): Promise<T> =>
  JSON.parse(await sendForText(...asked))

const create = (token: string) =>
  send<{ data: Page['data'][0] & { customer: object } }>(token, '/leads', {
    method: 'POST',
    body: JSON.stringify(LEAD),
  })

const newAccount = async () => {
  const { accounts } = await fill<{ accounts: { id: number; token: string }[] }>('--accounts', 1)
  return accounts[0]!
}

test('leads that are filled in during creates are listed, retrieved and counted with the created ones', async () => {
  const { id, token } = await newAccount()
  const { data: before } = await create(token)
  const [{ data: meanwhile }] = await Promise.all([
    create(token),
    fill('--account', id, '--leads', 5100, '--quotes'),
  ])
  const { data: after } = await create(token)

  const first = await send<Page>(token, '/leads')
  expect(first).toMatchObject({ total: 5103, last_page: 256 })
  expect(first.data[0]).toMatchObject({ reference: after.reference })
  const last = await send<Page>(token, `/leads?page=${first.last_page}`)
  expect(last.data).toHaveLength(3)
  expect(last.data.at(-1)).toMatchObject({ reference: before.reference })
  const all = await stack.leads.rows<{ references: string[]; in_order: boolean; dense: boolean }>(
    `SELECT array_agg(reference) FILTER (WHERE reference = $2) AS references,
       bool_and(id > earlier AND created_at >= before) AS in_order, max(number) = count(*) AS dense
     FROM (SELECT *, lag(id, 1, 0::bigint) OVER newer AS earlier, lag(created_at, 1, '-infinity') OVER newer AS before
           FROM leads WHERE account_id = $1 WINDOW newer AS (ORDER BY number)) AS l`,
    [id, meanwhile.reference],
  )
  expect(all).toEqual([{ references: [meanwhile.reference], in_order: true, dense: true }])

  const created = [before.reference, meanwhile.reference]
  const filled = last.data.find(({ reference }) => !created.includes(reference))!
  const { data: lead } = await send<{ data: Record<string, unknown> }>(token, `/leads/${filled.reference}`)
  expect(lead).toMatchObject({
    ...filled,
    customer: { first_name: 'Ada', phone_link: 'tel:+442079460000' },
  })
  expect(lead['quotes']).toMatchObject([{ lead_id: filled.id, items: [{ image: { public: 1 } }, {}] }])
  expect(Object.keys(lead)).toEqual(Object.keys(after))
})

test('work is notes, callbacks and appointments for a user, which the schedule, the search and figures have', async () => {
  const { id, token } = await newAccount()
  await fill('--account', id, '--leads', 24, '--work')
  const { data: entries } = await send<{ data: { kind: string; user: object }[] }>(
    token,
    '/manage/schedule?state=all',
  )
  const countKind = (kind: string) => entries.filter((entry) => entry.kind === kind).length
  expect([countKind('callback'), countKind('appointment')]).toEqual([8, 6])
  expect(entries[0]!.user).toMatchObject({ name: 'Grace Hopper' })
  await eventually(async () => {
    const found = await send<Page>(token, '/leads?q=called')
    expect(found.total).toBe(12)
    const figures = await send<{ data: object[] }>(token, '/manage/figures')
    expect(figures.data).toMatchObject([{ created: 24, appointments: 6 }])
  })
})

test('the stored JSON of filled leads equals the JSON that is rendered from their columns', async () => {
  const { id, token } = await newAccount()
  await fill('--account', id, '--leads', 2, '--quotes')
  await create(token)
  await fill('--account', id, '--leads', 2)
  const { data } = await send<Page>(token, '/leads')
  const paths = ['/leads', ...data.map(({ reference }) => `/leads/${reference}`)]
  const texts = () => Promise.all(paths.map((path) => sendForText(token, path)))

  const kept = await texts()
  const changed = await stack.leads.rows(
    'UPDATE leads SET json_format = 0 WHERE account_id = $1 AND json_format = $2 RETURNING id',
    [id, leadJsonFormat(stack.assetsUrl)],
  )
  expect(changed).toHaveLength(5)
  expect(await texts()).toEqual(kept)
})

test('a lead with JSON of another format is rendered from its columns after quotes are added', async () => {
  const { id, token } = await newAccount()
  await fill('--account', id, '--leads', 1)
  await create(token)
  await stack.leads.rows('UPDATE leads SET json_format = 7 WHERE account_id = $1 AND number = 1', [id])
  await fill('--account', id, '--leads', 1, '--quotes')
  const formats = await stack.leads.rows(
    'SELECT json_format, version FROM leads WHERE account_id = $1 ORDER BY number',
    [id],
  )
  const current = { json_format: leadJsonFormat(stack.assetsUrl), version: 2 }
  expect(formats).toEqual([{ json_format: 0, version: 2 }, current, current])
  for (const { reference } of (await send<Page>(token, '/leads')).data)
    expect(await send(token, `/leads/${reference}`)).toMatchObject({
      data: { quotes: [{ items: [{}, {}] }] },
    })
})

test('each user of an account gets saved views, at most 50', async () => {
  const { id, token } = await newAccount()
  const body = JSON.stringify({ email: 'sam@example.com', name: 'Sam' })
  await send(token, '/manage/users', { method: 'POST', body })
  expect(await fill('--account', id, '--views', 20)).toEqual({ account: id, views: 20 })
  expect(await fill('--account', id, '--views', 60)).toEqual({ account: id, views: 30 })
})

test('deliveries of each status are listed and shown with their attempts, and pending ones arrive', async () => {
  const { id, token } = await newAccount()
  const url = `${receiver.url}/filled`
  const made = await fill<{ first_id: number }>('--account', id, '--endpoints', 4, '--url', url)
  const { data: endpoints } = await send<{ data: { id: number; url: string }[] }>(
    token,
    '/manage/webhook-endpoints',
  )
  expect(endpoints.map((endpoint) => endpoint.url)).toEqual([1, 2, 3, 4].map((n) => `${url}?${n}`))

  const [ok, failed, waiting, disabled] = endpoints.map((endpoint) => endpoint.id)
  expect(ok).toBe(made.first_id)
  await fill('--endpoint', ok, '--deliveries', 25, '--status', 'delivered')
  await fill('--endpoint', failed, '--deliveries', 25, '--status', 'exhausted')
  await fill('--endpoint', disabled, '--deliveries', 25, '--status', 'held')
  expect(receiver.requests).toHaveLength(0)
  await fill('--endpoint', waiting, '--deliveries', 25, '--status', 'pending')
  await expect(fill('--endpoint', disabled, '--deliveries', 1, '--status', 'pending')).rejects.toThrow(
    'disabled',
  )

  const list = (query: string) => send<Page & { data: Delivery[] }>(token, `/manage/deliveries?${query}`)
  const one = async (query: string) => {
    const { data } = await send<{ data: Delivery }>(
      token,
      `/manage/deliveries/${(await list(query)).data[0]!.id}`,
    )
    return data
  }
  expect(await list(`endpoint_id=${ok}&status=delivered`)).toMatchObject({ total: 25 })
  expect(await one(`endpoint_id=${ok}`)).toMatchObject({
    status: 'delivered',
    attempt_count: 1,
    attempts: [{ number: 1, status: 200, error: null }],
  })
  expect((await one('status=exhausted')).attempts.map(({ error }) => error)).toEqual(
    Array(6).fill('http_status'),
  )
  expect(await list('status=held')).toMatchObject({ total: 25 })

  await eventually(() => expect(new Set(receiver.requests.map(({ body }) => String(body))).size).toBe(25))
  const { data: lead } = await send<Page>(token, '/leads?page=1')
  const { data: whole } = await send<{ data: object }>(token, `/leads/${lead[0]!.reference}`)
  expect(receiver.requests.map(({ body }) => JSON.parse(String(body)))).toContainEqual({ data: whole })
})

test('multiplied deliveries have separate events and attempts, and the indexes are created again', async () => {
  const indexes = () =>
    stack.webhooks.rows(`SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname`)
  const { id } = await newAccount()
  const { first_id: endpoint } = await fill<{ first_id: number }>(
    '--account',
    id,
    '--endpoints',
    1,
    '--url',
    receiver.url,
  )
  await fill('--endpoint', endpoint, '--deliveries', 3, '--status', 'exhausted')
  const before = await indexes()
  expect(await fill('--endpoint', endpoint, '--times', 4)).toEqual({ endpoint, times: 4 })
  expect(await indexes()).toEqual(before)
  const rows = await stack.webhooks.rows(
    `SELECT d.status, e.lead_reference = d.lead_reference AS same, e.fan_out,
       (SELECT count(*) FROM attempts a WHERE a.delivery_id = d.id) AS attempts
     FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.endpoint_id = $1`,
    [endpoint],
  )
  expect(rows).toEqual(Array(12).fill({ status: 'exhausted', same: true, fan_out: 1, attempts: 6 }))
})

test('a lead that is created for a delivery names its event, which reconciliation needs', async () => {
  const { id } = await newAccount()
  const { first_id: endpoint } = await fill<{ first_id: number }>(
    '--account',
    id,
    '--endpoints',
    1,
    '--url',
    receiver.url,
  )
  await fill('--account', id, '--leads', 2)
  await fill('--endpoint', endpoint, '--deliveries', 7, '--status', 'delivered')
  const ofLeads = await stack.leads.rows<{ reference: string; event_id: string | null }>(
    'SELECT reference, event_id FROM leads WHERE account_id = $1 ORDER BY number',
    [id],
  )
  const events = await stack.webhooks.rows(
    'SELECT lead_reference AS reference, id AS event_id, fan_out FROM events WHERE account_id = $1',
    [id],
  )
  expect(ofLeads.map(({ event_id }) => event_id !== null)).toEqual([false, false, ...Array(5).fill(true)])
  expect(events).toHaveLength(7)
  expect(events).toEqual(expect.arrayContaining(ofLeads.slice(2).map((lead) => ({ ...lead, fan_out: 1 }))))
})

test('invalid arguments are refused before anything is written', async () => {
  await expect(fill()).rejects.toThrow('--deliveries N --status STATUS')
  await expect(fill('--account', 999_999, '--leads', 1)).rejects.toThrow('There is no account 999999.')
  await expect(fill('--account', 999_999, '--endpoints', 1, '--url', 'http://127.0.0.1/')).rejects.toThrow(
    'no account',
  )
  await expect(fill('--endpoint', 999_999, '--deliveries', 1, '--status', 'held')).rejects.toThrow(
    'no endpoint',
  )
  await expect(fill('--account', '1x', '--leads', 1)).rejects.toThrow('positive integer')
  await expect(fill('--endpoint', 1, '--deliveries', 1, '--status', 'lost')).rejects.toThrow('must be one of')
})
