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
import { type Client, createClient } from '../../support/client'

type Inhabitant = {
  token: string
  reference: string
  userId: number
  userEmail: string
  imageId: number
  appointmentId: number
  callbackId: number
}

/** A running system with two accounts, each of which has one record of every kind. */
export type World = Inhabitant & {
  system: System
  baseUrl: string
  /** By default sends the token of the first account. `other` is the second account. */
  client: Client
  other: Inhabitant
  /** A disabled endpoint, which specs may change. */
  idleEndpointId: number
  /** A user without assignments, whom specs may change. */
  idleUserId: number
  freshEmail: () => string
  /** Creates a valid lead and returns its reference. */
  newLead: () => Promise<string>
  /** Returns all stored rows and files, and the number of requests to the receiver. */
  traces: () => Promise<Traces>
  /** Returns the names of all files of files-service, including incomplete ones. */
  files: () => Promise<string[]>
  /**
   * Fails unless the stored data are the same as `before`. Then creates a lead, and expects that the next
   * request to the receiver is the webhook of this lead.
   */
  expectNothingLeft: (before: Traces) => Promise<void>
  /** Fails if a service has logged an error or was restarted. */
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

// Each account has one lead that was created before the endpoint, so this lead has no delivery.
const LEADS_BEFORE_ENDPOINT = 1

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export const startWorld = async (): Promise<World> => {
  const [store, receiver] = await Promise.all([objectStoreDirectory(), startReceiver()])
  // Retries start after the specs, because an attempt would change the stored rows that the specs compare.
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
  // Waits until the receiver has got the webhook of every lead, and the deliveries of these webhooks are
  // recorded as delivered. Also waits until all events and search terms are stored, and no other delivery is
  // due or in flight. files-service removes the file of an aborted upload only after the response of the
  // gateway, so waits for this, too.
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
        expect(await queryRows(system.databases.leads.url, UNPROCESSED)).toEqual([])
        expect(await queryRows(system.databases.webhooks.url, UNATTEMPTED)).toEqual([])
        expect((await filesIn(store.path)).filter((name) => name.startsWith(UPLOADING))).toEqual([])
      },
      { describe: 'waiting for all deliveries' },
    )
  const traces = async () => {
    await quiet()
    return readTraces({ system, receiver, store: store.path })
  }
  const expectUnharmed = async () => {
    // Retries, because on a busy machine the check of a dependency may take longer than its limit.
    await eventually(async () =>
      expect(await client.request('GET', '/readyz')).toMatchObject({ status: 200 }),
    )
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
  if (answer.status !== 200)
    throw new Error(`the response to POST ${path} was ${answer.status}: ${answer.text}`)
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

const readTraces = async (from: { system: System; receiver: Receiver; store: string }): Promise<Traces> => {
  const { databases } = from.system
  const [leads, webhooks, files] = await Promise.all([
    // Excludes the outbox, whose rows are deleted after a few seconds, and the progress of reconciliation.
    tableContents(databases.leads, { outbox: 'false', reconciliation: 'false', reconciled_leads: 'false' }),
    tableContents(databases.webhooks),
    filesIn(from.store),
  ])
  // Keeps only the number of tokens, because the time of their last use is stored from time to time.
  leads['tokens'] = leads['tokens']!.replace(/ .*/, '')
  return {
    leads,
    webhooks,
    files,
    posts: from.receiver.requests.length,
  }
}

const queryRows = async <Row extends object>(
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

/** Selects accounts with leads whose search terms are not stored yet, or with leads or changes to count. */
const UNPROCESSED = `
  SELECT a.id FROM accounts a LEFT JOIN lead_search_progress s ON s.account_id = a.id
  LEFT JOIN figures_progress f ON f.account_id = a.id
  WHERE a.lead_count > least(coalesce(s.number, 0), coalesce(f.number, 0))
    OR EXISTS (SELECT FROM changed_leads c WHERE c.account_id = a.id)`

/** Selects deliveries that are due or in flight. Excludes retries, which are due only after 24 hours. */
const UNATTEMPTED = `
  SELECT id FROM deliveries WHERE claim IS NOT NULL OR status = 'pending' AND next_attempt_at < now() + interval '1 hour'`

/** The prefix of the names of files whose upload has not ended. */
const UPLOADING = 'leadwire-upload-'

/** Returns the number of events that webhook-service has not stored yet. */
const eventsOnTheirWay = async ({ leads, webhooks }: System['databases']): Promise<number> => {
  const recorded = await queryRows<{ id: string }>(leads.url, 'SELECT event_id AS id FROM outbox')
  const held = await queryRows(
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
