import { readdir } from 'node:fs/promises'
import {
  eventually,
  objectStoreDirectory,
  type Receiver,
  type System,
  startReceiver,
  startSystem,
  tableContents,
} from '@leadwire/test-kit'
import { Client as PgClient } from 'pg'
import { type Client, createClient } from '../client'

type Inhabitant = {
  token: string
  reference: string
  userId: number
  userEmail: string
  imageId: number
  appointmentId: number
  callbackId: number
}

/** A running system with an account that has one of everything, and another account that has the same. */
export type World = Inhabitant & {
  system: System
  baseUrl: string
  /** Carries the account's token. */
  client: Client
  other: Inhabitant
  /** An endpoint that is disabled, for specs to change. */
  idleEndpointId: number
  /** A user that nothing is assigned to, for specs to change. */
  idleUserId: number
  freshEmail: () => string
  /** Makes a sound lead and answers with its reference. */
  newLead: () => Promise<string>
  /** Everything that is kept anywhere: rows, files, and what the receiver got. */
  traces: () => Promise<Traces>
  /** The names of all files that files-service has on its disk, half ones too. */
  files: () => Promise<string[]>
  /** Fails unless everything is as it was: proved by a lead made now, whose webhook is the next that comes. */
  expectNothingLeft: (before: Traces) => Promise<void>
  /** Fails when anything logged an error or is not the process it was. */
  expectUnharmed: () => Promise<void>
  stop: () => Promise<void>
}

export type Traces = {
  leads: Record<string, string>
  webhooks: Record<string, string>
  files: string[]
  posts: number
}

const LEAD = {
  name: 'Sound',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@b.example',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

// Made before anybody listened.
const LEADS_BEFORE_ENDPOINT = 1

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export const startWorld = async (): Promise<World> => {
  const [store, receiver] = await Promise.all([objectStoreDirectory(), startReceiver()])
  // What specs send to endpoints without a receiver is not attempted again while they compare what is stored.
  const env = { LOG_LEVEL: 'info', WEBHOOK_RETRY_SCHEDULE: '24h' }
  const system = await startSystem({ store: { STORE_URL: store.url }, env })
  const client = createClient(system.baseUrl, { token: system.token })
  const { token: otherToken } = await system.createAccount('Other')
  const own = await settle(client, system.token, 'own')
  const other = await settle(client, otherToken, 'other')
  const endpoint = async (url: string, enabled: boolean) =>
    (await created(client, '/manage/webhook-endpoints', { json: { url, enabled } })).id
  const endpointId = await endpoint(receiver.url, true)
  const idleEndpointId = await endpoint('https://idle.example/', false)
  const idleUser = { email: 'idle@b.example', name: 'Idle' }
  const { id: idleUserId } = await created(client, '/manage/users', { json: idleUser })
  const pids = system.services.map(({ name }) => system.pid(name))
  let emails = 0

  const newLead = async () =>
    (await created<{ reference: string }>(client, '/leads', { json: LEAD })).reference
  // Every lead made so far was sent to the receiver and its answer recorded, and no attempt at another endpoint is left.
  const quiet = () =>
    eventually(
      async () => {
        const path = `/manage/deliveries?endpoint_id=${endpointId}`
        const { json } = await client.request<{ total: number; data: { status: string }[] }>('GET', path)
        const leads = await client.request<{ total: number }>('GET', '/leads')
        expect(json.total).toBe(leads.json.total - LEADS_BEFORE_ENDPOINT)
        expect(receiver.requests).toHaveLength(json.total)
        expect(json.data.filter(({ status }) => status !== 'delivered')).toEqual([])
        expect(await eventsOnTheirWay(system.databases)).toBe(0)
        expect(await rowsOf(system.databases.leads.url, WITHOUT_WORDS)).toEqual([])
        expect(await rowsOf(system.databases.webhooks.url, UNATTEMPTED)).toEqual([])
      },
      { describe: 'every delivery to be done' },
    )
  const traces = async () => {
    await quiet()
    return tracesOf({ system, receiver, store: store.path })
  }
  const expectUnharmed = async () => {
    expect(await client.request('GET', '/readyz')).toMatchObject({ status: 200 })
    expect(system.services.map(({ name }) => system.pid(name))).toEqual(pids)
    expect(system.logs().filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([])
  }
  return {
    ...own,
    other,
    system,
    baseUrl: system.baseUrl,
    client,
    idleEndpointId,
    idleUserId,
    freshEmail: () => `user${emails++}@b.example`,
    newLead,
    traces,
    files: () => filesIn(store.path),
    expectNothingLeft: async (before) => {
      expect(await traces()).toEqual(before)
      const reference = await newLead()
      await quiet()
      expect(
        receiver.requests.slice(before.posts).map(({ body }) => JSON.parse(body.toString()).data.reference),
      ).toEqual([reference])
      await expectUnharmed()
    },
    expectUnharmed,
    stop: async () => {
      await client.close()
      await system.stop()
      await Promise.all([receiver.stop(), store.remove()])
    },
  }
}

const created = async <T = { id: number }>(
  client: Client,
  path: string,
  options: Parameters<Client['request']>[2],
): Promise<T> => {
  const answer = await client.request<{ data: T }>('POST', path, options)
  if (answer.status !== 200) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`)
  return answer.json.data
}

const settle = async (client: Client, token: string, name: string): Promise<Inhabitant> => {
  const userEmail = `${name}@b.example`
  const { reference } = await created<{ reference: string }>(client, '/leads', { token, json: LEAD })
  const { id: userId } = await created(client, '/manage/users', { token, json: { email: userEmail, name } })
  const multipart = [{ name: 'file', value: PNG, fileName: 'a.png', type: 'image/png' }]
  const { id: imageId } = await created(client, '/manage/images', { token, multipart })
  const json = { notify: false, user_id: userId, date: '24/12/2026 14:30' }
  const entry = async (kind: string) =>
    (await created(client, `/leads/${reference}/${kind}`, { token, json })).id
  const [appointmentId, callbackId] = [await entry('appointments'), await entry('callbacks')]
  return { token, reference, userId, userEmail, imageId, appointmentId, callbackId }
}

const tracesOf = async (from: { system: System; receiver: Receiver; store: string }): Promise<Traces> => {
  const { databases } = from.system
  const [leads, webhooks, files] = await Promise.all([
    // An event's row goes a few seconds later; webhook-service stores each event. Reconciliation records what it has checked.
    tableContents(databases.leads, { outbox: 'false', reconciliation: 'false', reconciled_leads: 'false' }),
    tableContents(databases.webhooks),
    filesIn(from.store),
  ])
  // Their last use is written down now and then.
  leads['tokens'] = leads['tokens']!.replace(/ .*/, '')
  return {
    leads,
    webhooks,
    files,
    posts: from.receiver.requests.length,
  }
}

const rowsOf = async <Row extends object>(
  connectionString: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> => {
  const client = new PgClient({ connectionString })
  await client.connect()
  const { rows } = await client.query<Row>(text, values)
  await client.end()
  return rows
}

/** Accounts with leads whose words are not written yet. */
const WITHOUT_WORDS = `
  SELECT id FROM accounts LEFT JOIN lead_search_progress ON account_id = id WHERE lead_count > coalesce(number, 0)`

/** Deliveries that are due or being attempted: a retry is due a day later. */
const UNATTEMPTED = `
  SELECT id FROM deliveries WHERE claim IS NOT NULL OR status = 'pending' AND next_attempt_at < now() + interval '1 hour'`

/** How many events webhook-service does not hold yet. */
const eventsOnTheirWay = async ({ leads, webhooks }: System['databases']): Promise<number> => {
  const recorded = await rowsOf<{ id: string }>(leads.url, 'SELECT event_id AS id FROM outbox')
  const held = await rowsOf(
    webhooks.url,
    `SELECT id FROM events WHERE id = ANY ($1)
     UNION ALL SELECT id FROM notifications.events WHERE id = ANY ($1)`,
    [recorded.map(({ id }) => id)],
  )
  return recorded.length - held.length
}

const filesIn = async (store: string): Promise<string[]> => {
  const entries = await readdir(store, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort()
}
