import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { openSql } from '@leadwire/fill'
import {
  columnsWith,
  eventually,
  type Receiver,
  type System,
  startReceiver,
  startSystem,
  streamMessages,
  tableContents,
} from '@leadwire/test-kit'

const MAIN = resolve(__dirname, '../../../leadwire/dist/main.js')

const LEAD = {
  name: 'unmistakable',
  first_name: 'unmistakable',
  last_name: 'unmistakable',
  phone: '020 7946 0123',
  email: 'unmistakable@example.com',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

// Adds an unknown column, because the record of an import stores the names of unknown columns.
const HEADER = [...Object.keys(LEAD), 'unmistakable'].join()
const ROW = [...Object.values(LEAD), ''].join()
const FILE = [HEADER, ...Array.from({ length: 3000 }, () => ROW)].join('\n')

const OTHER = { ...LEAD, name: 'Bay', first_name: 'Ada', last_name: 'Byron', email: 'ada@example.com' }

interface Answer {
  type?: string
  total?: number
  data?: { action?: string; status?: string; attempt_count?: number; reference?: string; id?: number }[]
}

let system: System
let receiver: Receiver
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  system = await startSystem({ env: { RATE_LIMIT: '100000/1m' } })
  receiver = await startReceiver()
  const findGrpc = (wanted: string) => system.services.find(({ service }) => service === wanted)!.grpc!
  env = {
    ...process.env,
    LEADS_SERVICE_URL: findGrpc('leads-service'),
    WEBHOOK_SERVICE_URL: findGrpc('webhook-service'),
    SERVICE_TOKEN: system.serviceToken,
  }
})
afterAll(async () => {
  await system?.stop()
  await receiver?.stop()
})

/**
 * Runs `leadwire account …` and returns its output. If it fails, rejects with an error that has its `stderr`.
 */
const account = async (command: string, id: number, ...args: string[]) => {
  const line = [MAIN, 'account', command, '--account', String(id), ...args, '--json']
  const { stdout } = await promisify(execFile)(process.execPath, line, { env })
  return JSON.parse(stdout)
}

const newAccount = async (name: string) => {
  const { account: made, token } = await system.createAccount(name)
  const headers = { authorization: `Bearer ${token}` }
  const ask = async (method: string, path: string, json?: object | string) => {
    const body = typeof json === 'string' ? json : JSON.stringify(json)
    const type = typeof json === 'string' ? 'text/csv' : 'application/json'
    const sent = json ? { headers: { ...headers, 'content-type': type }, body } : { headers }
    const answer = await fetch(`${system.baseUrl}${path}`, { method, ...sent })
    return { status: answer.status, json: (await answer.json()) as Answer }
  }
  await ask('POST', '/manage/webhook-endpoints', { url: receiver.url })
  return { id: made.id, ask }
}

test('a suspended account is refused with a problem, its deliveries are held, and they continue after a resume', async () => {
  const { id, ask } = await newAccount('Spec')
  receiver.answerWith({ status: 500 })
  await ask('POST', '/leads', OTHER)
  await eventually(async () => {
    const { json } = await ask('GET', '/manage/deliveries?status=pending')
    expect(json.data).toEqual([expect.objectContaining({ attempt_count: 1 })])
  })
  expect(await account('suspend', id)).toMatchObject({ id, suspended_at: expect.any(String) })
  await eventually(async () => {
    const refused = await ask('GET', '/leads')
    expect(refused).toMatchObject({ status: 403, json: { type: '/problems#account-suspended' } })
  })
  // Suspending the account a second time changes nothing.
  await account('suspend', id)
  expect(await account('resume', id)).toMatchObject({ id, suspended_at: null })
  await eventually(async () => expect((await ask('GET', '/leads')).status).toBe(200))
  const { json } = await ask('GET', '/manage/deliveries')
  expect(json.data).toMatchObject([{ status: 'pending', attempt_count: 1 }])
  const actions = (await ask('GET', '/manage/audit')).json.data!.map(({ action }) => action)
  expect(actions.slice(0, 4)).toEqual([
    'account.released',
    'account.resumed',
    'account.held',
    'account.suspended',
  ])
})

/** Saves a view for each user of an account. */
const saveView = async (leadsUrl: string, accountId: number) => {
  const sql = openSql(leadsUrl)
  const text = `INSERT INTO views (account_id, user_id, name, filters)
    SELECT account_id, id, 'unmistakable', '{}' FROM users WHERE account_id = $1`
  await sql.rows(text, [accountId]).finally(() => sql.close())
}

test('a deleted account leaves nothing in any store, another account loses nothing, and the deletion is reported', async () => {
  receiver.answerWith(({ body }) => ({ status: 200, body }))
  const kept = await newAccount('Kept')
  await kept.ask('POST', '/leads', OTHER)
  const texts = ['unmistakable']
  const { leads, webhooks } = system.databases
  const { id, ask } = await newAccount('unmistakable Ltd')
  await ask('POST', '/manage/users', { email: 'unmistakable.user@example.com', name: 'unmistakable' })
  await saveView(leads.url, id)
  for (let count = 0; count < 3; count += 1) await ask('POST', '/leads', LEAD)
  const { reference } = (await ask('GET', '/leads')).json.data![0]!
  expect((await ask('POST', `/manage/leads/${reference}/notes`, { text: 'unmistakable' })).status).toBe(200)
  const [user] = (await ask('GET', '/manage/users')).json.data!
  const entry = { user_id: user!.id, notify: false, date: '24/12/2198 14:30' }
  expect((await ask('POST', `/leads/${reference}/appointments`, entry)).status).toBe(200)
  await eventually(async () => {
    const { json } = await ask('GET', '/manage/deliveries?status=delivered')
    expect(json.total).toBe(3)
    expect(await columnsWith(leads, texts)).toContain('public.lead_search.term')
  })
  await expect(account('delete', id, '--confirm', 'Kept')).rejects.toMatchObject({
    stderr: expect.stringContaining('name: The name must match the name of the account'),
  })
  // Starts an import, which still runs when the account is deleted.
  expect((await ask('POST', '/manage/imports', FILE)).status).toBe(202)
  await eventually(async () => expect(await columnsWith(leads, texts)).toContain('public.imports.columns'))
  const running = await account('delete', id, '--confirm', 'unmistakable Ltd')
  expect(running).toMatchObject({ account_id: id, status: 'running', removed_leads: 0 })
  await expect(account('resume', id)).rejects.toMatchObject({
    stderr: expect.stringContaining('The account is being deleted, so it cannot be suspended or resumed.'),
  })
  await eventually(async () => expect(await account('deletion', id)).toMatchObject({ status: 'done' }))
  const found = [...(await columnsWith(leads, texts)), ...(await columnsWith(webhooks, texts))]
  expect(found).toEqual([])
  const counted = [
    'changed_leads',
    'lead_figures',
    'daily_figures',
    'response_figures',
    'figures_progress',
    'due_events',
  ]
  const ofAccount = Object.fromEntries(counted.map((table) => [table, `account_id = ${id}`]))
  expect(await tableContents(leads, ofAccount)).toMatchObject(
    Object.fromEntries(counted.map((table) => [table, '0 rows null'])),
  )
  const messages = await streamMessages(system.nats)
  expect(messages.filter((message) => Buffer.from(message).includes('unmistakable'))).toEqual([])
  expect((await ask('GET', '/leads')).status).toBe(401)
  expect((await kept.ask('GET', '/leads')).json.total).toBe(1)
})
