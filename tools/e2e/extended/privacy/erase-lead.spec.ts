import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  columnsWith,
  eventually,
  type ObjectStoreDirectory,
  objectStoreDirectory,
  streamMessages,
} from '@leadwire/test-kit'
import { createImports, renderCsv } from '../../support/imports'
import { mailFolder } from '../../support/mail'
import { PNG } from '../../support/samples'
import { LEAD, type Stage, startStage, type Tenant } from '../../support/stage'

interface Logged {
  type: string
  lead_reference: string
  erased: boolean
}

interface Receipt {
  lead_reference: string
  status: string
  finished_at: string | null
  erased: { store: string; what: string; count: number | null; erased_at: string | null }[]
  remains: { where: string; until: string | null }[]
}

// All personal data that this file sends contains one of these texts.
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
})
afterAll(async () => {
  await stage?.stop()
  await store.remove()
})

const filesIn = async (folder: string) => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name))))
}

const hasTrace = (bytes: Uint8Array) => TRACES.some((trace) => Buffer.from(bytes).includes(trace))

/** Returns the names of columns and stores that contain traces of the person. */
const traces = async () => {
  const { databases, nats } = stage.system
  const [leads, webhooks] = [
    await columnsWith(databases.leads, TRACES),
    await columnsWith(databases.webhooks, TRACES),
  ]
  const stores = {
    files: await filesIn(store.path),
    mail: await filesIn(mailFolder(stage.system)).catch(() => []),
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
          product_style_id: 1,
          name: said('item'),
          price: 100,
          hidden: 0,
          format: said('format'),
          status: said('item status'),
          options: { notes: said('notes') },
          product_style: { sku: said('sku'), name: said('style'), product: { name: said('product') } },
          image_id: await imageId(),
        },
      ],
    },
  ],
})

const key = (name: string) => ({ 'idempotency-key': `unmistakable-${name}` })

const listDeliveries = async (kind: string, reference: string) => {
  const path = `/manage/${kind}?lead_reference=${reference}`
  return (await tenant.client.request<{ data: { id: number; status: string }[] }>('GET', path)).json.data
}

/** Creates a lead that leaves traces in every store. */
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
  const note = { json: { text: said('conservatory') }, headers: key('note') }
  await tenant.send('POST', `/manage${path}/notes`, note)
  await tenant.send('PATCH', path, {
    json: { status: 'sold', user_email: 'sam@example.com', notify: true },
    headers: { 'x-request-id': said('update') },
  })
  const entry = { user_id: userId, notify: true, date: '24/12/2026 14:30' }
  const asked = { json: entry, headers: key('appointment') }
  const { id } = await tenant.send('POST', `${path}/appointments`, asked)
  // Waits until both messages are sent, because rescheduling would cancel an invitation that is not sent yet.
  await eventually(async () => {
    const notified = await listDeliveries('notifications', lead.reference)
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
  'note.added',
]

/**
 * Creates two endpoints for all events. Both receivers respond with the body of the request, one with the
 * status 200 and one with 500.
 */
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
  eventually(async () => {
    const receipt = await tenant.send<Receipt>('GET', `/manage/leads/${reference}/erasure`)
    expect(receipt.status).toBe('done')
    return receipt
  })

test('no personal data remain in any store, and the figures of the lead stay', async () => {
  await echoes()
  const reference = await personWithTraces(await newUser())
  await createImports(tenant).run(renderCsv([said('imported')]).replace('Website', 'Pigeon'))
  await eventually(async () => {
    const notified = await listDeliveries('notifications', reference)
    expect(notified.map(({ status }) => status)).toEqual(Array(4).fill('delivered'))
    const sent = await listDeliveries('deliveries', reference)
    expect(sent.filter(({ status }) => status === 'delivered')).toHaveLength(EVENTS.length)
    expect(sent.filter(({ status }) => status === 'pending')).toHaveLength(EVENTS.length)
    expect(await traces()).toEqual(
      expect.arrayContaining([
        'public.leads.email',
        'public.leads.json',
        'public.quote_items.options',
        'public.attachments.name',
        'public.notes.text',
        'public.idempotency_keys.body',
        'public.idempotency_keys.key',
        'public.lead_search.term',
        'public.import_errors.source',
        'public.attempts.response',
        'public.events.body',
        'notifications.events.body',
        'files',
        'mail',
        'stream',
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
    attributes: 1,
    customer: 1,
    lead: 1,
    quotes: 1,
    quote_items: 1,
    history: 2,
    attachments: 1,
    attached_files: 1,
    notes: 1,
    search_terms: 14,
    idempotency_answers: 5,
    import_rows: 1,
    webhook_events: 7,
    notification_events: 4,
    cancelled_deliveries: 7,
    messages: 11,
  })
  for (const { erased_at } of done.erased) expect(erased_at).not.toBeNull()
  expect(done.remains.map(({ where }) => where)).toEqual(['wal', 'backups'])
  const day = 24 * 3_600_000
  for (const { until } of done.remains)
    expect(Date.parse(until!) - Date.parse(done.finished_at!)).toBe(30 * day)

  for (const kind of ['appointments', 'callbacks']) {
    const path = `/leads/${reference}/${kind}`
    const { json } = await tenant.client.request<{ data: object[] }>('GET', path)
    expect(json.data).toEqual([expect.objectContaining({ cancelled_at: expect.any(String) })])
  }
  await eventually(async () => {
    const { json } = await tenant.client.request<{ data: Logged[] }>('GET', '/manage/events?limit=100')
    const kept = json.data.filter((event) => event.lead_reference === reference && !event.erased)
    expect(kept.map(({ type }) => type).sort()).toEqual([
      'appointment.cancelled',
      'callback.cancelled',
      'lead.erased',
    ])
    expect(kept.at(-1)!.type).toBe('lead.erased')
    const notified = await listDeliveries('notifications', reference)
    expect(notified.filter((one) => one.status === 'delivered')).toHaveLength(6)
  })
  expect(await traces()).toEqual([])

  const { id, created_at, value, status, referrer } = before
  const after = await tenant.send('GET', `/leads/${reference}`)
  expect(after).toMatchObject({ id, created_at, value, status, referrer, name: '', postcode: '', ip: '' })
  const items = [{ price: 100, options: {} }]
  expect(after).toMatchObject({ customer: { name: '', email: '' }, quotes: [{ items }] })
})

test('leads that are erased directly after their creation leave nothing', async () => {
  const json = { ...LEAD, first_name: said('moment') }
  const created = Array.from({ length: 20 }, () => tenant.send('POST', '/leads', { json }))
  const references = (await Promise.all(created)).map(({ reference }) => reference)
  // Retries, because a busy service may respond with 503.
  await Promise.all(references.map((reference) => eventually(() => erase(reference))))
  await Promise.all(references.map(receiptWhenDone))
  expect(await traces()).toEqual([])
})

test('stores that are unavailable are erased when they are available again', async () => {
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
})
