import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  columnsWith,
  eventually,
  type ObjectStoreDirectory,
  objectStoreDirectory,
  streamMessages,
} from '@leadwire/test-kit'
import { PNG } from '../files/samples.fixture'
import { LEAD, type Stage, startStage, type Tenant } from '../stage.fixture'

interface Receipt {
  lead_reference: string
  status: string
  finished_at: string | null
  erased: { store: string; what: string; count: number | null; erased_at: string | null }[]
  remains: { where: string; until: string | null }[]
}

// Whatever was given of the person has one of them.
const TRACES = ['unmistakable', '7700 900461', '7700900461', 'ZE3 9JZ', 'ze39jz', '203.0.113.77']
const PHONE = '07700 900461'

const said = (what: string) => `unmistakable ${what}`

let store: ObjectStoreDirectory
let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  store = await objectStoreDirectory()
  stage = await startStage({
    store: { STORE_URL: store.url },
    env: { BACKUP_RETENTION_DAYS: '30', TRUSTED_PROXIES: '127.0.0.0/8' },
  })
  tenant = await stage.newTenant()
}, 60_000)
afterAll(async () => {
  await stage?.stop()
  await store.remove()
})

const filesIn = async (folder: string) => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name))))
}

const mailFolder = () => {
  const { env } = stage.system.services.find(({ service }) => service === 'webhook-service')!
  return fileURLToPath(env['SMTP_URL']!)
}

const hasTrace = (bytes: Uint8Array) => TRACES.some((trace) => Buffer.from(bytes).includes(trace))

/** Where there are traces of the person. */
const traces = async () => {
  const { databases, nats } = stage.system
  const [leads, webhooks] = [
    await columnsWith(databases.leads, TRACES),
    await columnsWith(databases.webhooks, TRACES),
  ]
  const stores = {
    files: await filesIn(store.path),
    mail: await filesIn(mailFolder()).catch(() => []),
    stream: await streamMessages(nats),
  }
  const others = Object.entries(stores).filter(([, all]) => all.some(hasTrace))
  return [...leads, ...webhooks, ...others.map(([name]) => name)]
}

const imageId = async () => {
  const multipart = [{ name: 'file', value: PNG, fileName: 'window.png' }]
  return (await tenant.send<{ id: number }>('POST', '/manage/images', { multipart })).id
}

const visitorLead = async () => ({
  ...LEAD,
  name: said('name'),
  first_name: said('first'),
  last_name: said('last'),
  company_name: said('company'),
  email: 'unmistakable@example.com',
  phone: PHONE,
  mobile: PHONE,
  postcode: 'ZE3 9JZ',
  description: said('description'),
  user_agent: said('agent'),
  ip: '203.0.113.77',
  referrer_url: 'https://example.com/?of=unmistakable',
  attributes: { note: said('attribute') },
  external_id: said('external id'),
  value: 4200,
  quotes: [
    {
      status: said('status'),
      items: [
        {
          ...{ product_style_id: 1, name: said('item'), price: 100, hidden: 0 },
          ...{ format: said('format'), status: said('item status'), options: { notes: said('notes') } },
          product_style: { sku: said('sku'), name: said('style'), product: { name: said('product') } },
          image_id: await imageId(),
        },
      ],
    },
  ],
})

const key = (name: string) => ({ 'idempotency-key': `unmistakable-${name}` })

const deliveriesOf = async (kind: string, reference: string) => {
  const path = `/manage/${kind}?lead_reference=${reference}`
  return (await tenant.client.request<{ data: { id: number; status: string }[] }>('GET', path)).json.data
}

/** A lead that left traces wherever a lead can. */
const personWithTraces = async (userId: number) => {
  const lead = await tenant.send('POST', '/manage/leads', {
    json: await visitorLead(),
    headers: { ...key('create'), 'x-request-id': said('request') },
  })
  const path = `/leads/${lead.reference}`
  const multipart = [
    { name: 'name', value: said('attachment') },
    { name: 'file', value: said('content'), fileName: 'unmistakable.txt' },
  ]
  await tenant.send('POST', `${path}/attachments`, { multipart, headers: key('attach') })
  await tenant.send('PATCH', path, {
    json: { status: 'sold', user_email: 'sam@example.com', notify: true },
    headers: { 'x-request-id': said('update') },
  })
  const entry = { user_id: userId, notify: true, date: '24/12/2026 14:30' }
  const asked = { json: entry, headers: key('appointment') }
  const { id } = await tenant.send('POST', `${path}/appointments`, asked)
  // A message that still waits is cancelled by the next of its invitation.
  await eventually(async () => {
    const notified = await deliveriesOf('notifications', lead.reference)
    expect(notified.map(({ status }) => status)).toEqual(['delivered', 'delivered'])
  })
  await tenant.send('PATCH', `${path}/appointments/${id}`, {
    json: { date: '25/12/2026 14:30', notify: true },
  })
  await tenant.send('POST', `${path}/callbacks`, { json: entry, headers: key('callback') })
  return lead.reference
}

const newUser = async (email = 'sam@example.com') => {
  const user = { email, name: 'Sam' }
  return (await tenant.send<{ id: number }>('POST', '/manage/users', { json: user })).id
}

const EVENTS = [
  'lead.created',
  'lead.updated',
  'appointment.scheduled',
  'callback.scheduled',
  'attachment.added',
  'appointment.rescheduled',
]

/** Endpoints of all events that answer with what they were sent: one takes it, one does not. */
const echoes = async () => {
  for (const status of [200, 500]) {
    const { receiver } = await tenant.listen({ events: EVENTS, include: ['attributes'] })
    receiver.answerWith(({ body }) => ({ status, body }))
  }
}

const erase = async (reference: string) => {
  const answer = await tenant.client.request<{ data: Receipt }>('POST', `/manage/leads/${reference}/erase`)
  expect(answer.status).toBe(202)
  return answer.json.data
}

const receiptWhenDone = (reference: string) =>
  eventually(
    async () => {
      const receipt = await tenant.send<Receipt>('GET', `/manage/leads/${reference}/erasure`)
      expect(receipt.status).toBe('done')
      return receipt
    },
    { timeoutMs: 40_000 },
  )

test('nothing of a person remains in any store, and what is countable stays', async () => {
  await echoes()
  const reference = await personWithTraces(await newUser())
  await eventually(async () => {
    const notified = await deliveriesOf('notifications', reference)
    expect(notified.map(({ status }) => status)).toEqual(Array(4).fill('delivered'))
    const sent = await deliveriesOf('deliveries', reference)
    expect(sent.filter(({ status }) => status === 'delivered')).toHaveLength(EVENTS.length)
    expect(sent.filter(({ status }) => status === 'pending')).toHaveLength(EVENTS.length)
    expect(await traces()).toEqual(
      expect.arrayContaining([
        ...['public.leads.email', 'public.leads.json', 'public.quote_items.options'],
        ...['public.attachments.name', 'public.idempotency_keys.body', 'public.idempotency_keys.key'],
        'public.lead_search.term',
        ...['public.attempts.response', 'public.events.body', 'notifications.events.body'],
        ...['files', 'mail', 'stream'],
      ]),
    )
  })
  const before = await tenant.send('GET', `/leads/${reference}`)
  const receipt = await erase(reference)
  expect(receipt).toMatchObject({ lead_reference: reference, finished_at: null })

  const done = await receiptWhenDone(reference)
  expect(await traces()).toEqual([])
  const counts = Object.fromEntries(done.erased.map(({ what, count }) => [what, count]))
  expect(counts).toMatchObject({
    ...{
      attributes: 1,
      customer: 1,
      lead: 1,
      quotes: 1,
      quote_items: 1,
      history: 2,
      attachments: 1,
      attached_files: 1,
    },
    ...{ search_words: 12, idempotency_answers: 4, webhook_events: 6, notification_events: 4 },
    ...{ cancelled_deliveries: 6, messages: 10 },
  })
  for (const { erased_at } of done.erased) expect(erased_at).not.toBeNull()
  expect(done.remains.map(({ where }) => where)).toEqual(['wal', 'backups'])
  const day = 24 * 3_600_000
  for (const { until } of done.remains)
    expect(Date.parse(until!) - Date.parse(done.finished_at!)).toBe(30 * day)

  const { id, created_at, value, status, referrer } = before
  const after = await tenant.send('GET', `/leads/${reference}`)
  expect(after).toMatchObject({ id, created_at, value, status, referrer, name: '', postcode: '', ip: '' })
  const items = [{ price: 100, options: {} }]
  expect(after).toMatchObject({ customer: { name: '', email: '' }, quotes: [{ items }] })
})

test('an erased lead is listed, tells who erased it, has the same receipt again, and changes no more', async () => {
  const { receiver } = await tenant.listen()
  const { reference } = await tenant.createLead()
  const { headers } = await tenant.client.request('GET', `/leads/${reference}`)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await erase(reference.toUpperCase())
  const done = await receiptWhenDone(reference)
  // Renewed meanwhile.
  const receivers = null
  expect({ ...(await erase(reference)), receivers }).toEqual({ ...done, receivers })

  const path = `/leads/${reference}`
  const after = await tenant.client.request<{ data: object }>('GET', path)
  expect(after.headers['etag']).not.toBe(headers['etag'])
  const [listed] = await tenant.send<object[]>('GET', '/leads')
  expect(after.json.data).toMatchObject(listed!)
  const [change] = await tenant.send<object[]>('GET', `/manage${path}/history`)
  expect(change).toMatchObject({ version: 2, action: 'erased', token: { name: 'first' }, changes: [] })
  const [entry] = await tenant.send<object[]>('GET', '/manage/audit')
  expect(entry).toMatchObject({ action: 'lead.erased', changes: {} })

  const later = { user_id: await newUser('late@example.com'), notify: true, date: '24/12/2026 14:30' }
  const multipart = [
    { name: 'name', value: said('late') },
    { name: 'file', value: said('content'), fileName: 'late.txt' },
  ]
  const [delivery] = await deliveriesOf('deliveries', reference)
  const refused = [
    await tenant.client.request('PATCH', path, { json: { status: 'open' } }),
    await tenant.client.request('POST', `${path}/appointments`, { json: later }),
    await tenant.client.request('POST', `${path}/callbacks`, { json: later }),
    await tenant.client.request('PATCH', `${path}/callbacks/1`, { json: later }),
    await tenant.client.request('DELETE', `${path}/callbacks/1`),
    await tenant.client.request('POST', `${path}/attachments`, { multipart }),
    await tenant.client.request('POST', `/manage/deliveries/${delivery!.id}/retry`),
  ]
  for (const { status, json } of refused)
    expect([status, json]).toEqual([409, expect.objectContaining({ type: '/problems#lead-erased' })])
  await eventually(async () => expect((await filesIn(store.path)).filter(hasTrace)).toEqual([]))
})

test('another account, and a lead that is not erased, have no receipt', async () => {
  const { reference } = await tenant.createLead()
  const other = await stage.newTenant()
  const asked = ['erase', 'erasure'].map((what) => `/manage/leads/${reference}/${what}`)
  expect((await other.client.request('POST', asked[0]!)).status).toBe(404)
  expect((await tenant.client.request('GET', asked[1]!)).status).toBe(404)
  await erase(reference)
  expect((await other.client.request('GET', asked[1]!)).status).toBe(404)
  expect((await tenant.client.request('POST', '/manage/leads/no-reference/erase')).status).toBe(404)
})

test('a lead that is erased the moment it was created leaves nothing', async () => {
  const json = { ...LEAD, first_name: said('moment') }
  const created = Array.from({ length: 20 }, () => tenant.send('POST', '/leads', { json }))
  const references = (await Promise.all(created)).map(({ reference }) => reference)
  await Promise.all(references.map(erase))
  await Promise.all(references.map(receiptWhenDone))
  expect(await traces()).toEqual([])
})

test('whatever is unavailable is erased when it is back', async () => {
  const { system } = stage
  const { reference } = await tenant.createLead({ first_name: said('unavailable') })
  const multipart = [
    { name: 'name', value: said('attachment') },
    { name: 'file', value: said('content'), fileName: 'unavailable.txt' },
  ]
  await tenant.send('POST', `/leads/${reference}/attachments`, { multipart })
  await Promise.all([system.kill('webhook-service'), system.kill('files-service'), system.nats.kill()])
  await erase(reference)
  await system.kill('leads-service')
  await system.nats.restart()
  for (const name of ['leads-service', 'files-service', 'webhook-service']) await system.restart(name)
  await receiptWhenDone(reference)
  expect(await traces()).toEqual([])
}, 60_000)
