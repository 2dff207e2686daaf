import { createHmac } from 'node:crypto'
import { eventually, type ReceivedRequest, type Receiver } from '@leadwire/test-kit'
import { PNG } from '../files/samples.fixture'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../stage.fixture'
import {
  expectRecord,
  expectWholeLead,
  IMAGE,
  ITEM_IN_RETRIEVE,
  ITEM_IN_WEBHOOK,
  LIST_ITEM,
  PAGE_FIELDS,
  STATUSES,
  TIMESTAMP,
} from './interface-tables.fixture'

// As they are written here they must come back: keys like numbers would move to the front in any JavaScript object.
const OPTIONS =
  '{"width":1200,"height":900,"external_frame_colour":"Anthracite – grey","10":"ten","2":"two","depth":70.50,"glass":"\\u0043lear","__proto__":"x","frame_material":"uPVC"}'

const VISITOR = {
  ...LEAD,
  name: 'Kitchen and hall',
  company_name: 'Analytical Engines',
  mobile: '07700 900123',
  value: 4500,
  description: 'After six, please.',
  user_agent:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
  ip: '203.0.113.7',
  referrer: 'Direct',
  referrer_url: 'https://search.example/?q=windows',
  test: true,
}

const item = (imageId: number, options: string) =>
  `{"product_style_id":12,"name":"Casement","price":45900,"hidden":true,"image_id":${imageId},
    "product_style":{"sku":"CAS-2","name":"Casement, two panes","product":{"name":"Window"}},"options":${options}}`

let stage: SharedStage
let tenant: Tenant
let receiver: Receiver
let secret: string
let imageId: number
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  ;({ receiver, secret } = await tenant.listen())
  const image = await tenant.send('POST', '/manage/images', {
    multipart: [{ name: 'file', value: PNG, fileName: 'front.png', type: 'image/png' }],
  })
  imageId = image.id
})
afterAll(() => stage.stop())

const webhookOf = (reference: string): Promise<ReceivedRequest> =>
  eventually(() => {
    const found = receiver.requests.find(({ body }) => body.includes(reference))
    if (!found) throw new Error(`no webhook of ${reference} yet`)
    return found
  })

const createVisitorLead = async () => {
  const items = [item(imageId, OPTIONS), item(imageId, '{}')]
  const body = `${JSON.stringify(VISITOR).slice(0, -1)},"quotes":[{"items":[${items}]},{"status":"draft"}]}`
  const answer = await tenant.client.request<{ data: Lead }>('POST', '/manage/leads', {
    body,
    headers: { 'content-type': 'application/json' },
  })
  expect(answer.status).toBe(200)
  return answer
}

describe('a lead of Create Lead', () => {
  test('has every field of the interface, in its order and of its type; what is not given is null', async () => {
    const answer = await tenant.client.request<{ data: Lead }>('POST', '/leads', {
      json: LEAD,
      headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0' },
    })
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(Object.keys(answer.json)).toEqual(['data'])
    const lead = answer.json.data
    expectWholeLead(lead, { item: ITEM_IN_RETRIEVE })
    expect(lead).toMatchObject({
      ...{ name: 'Bay window', value: 0, description: null, postcode: 'SW1A 1AA', ip: '127.0.0.1' },
      user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
      ...{
        referrer: 'Website',
        referrer_url: null,
        browser: 'Firefox',
        browser_version: '145.0',
        os: 'Linux',
      },
      ...{ status: 'open', type: 'quote', test: 0, quotes: [], created_at: lead.updated_at },
      customer: {
        ...{ first_name: 'Ada', last_name: 'Lovelace', name: 'Ada Lovelace', company_name: null },
        ...{ email: 'ada@example.com', phone: '020 7946 0123', phone_link: 'tel:+442079460123' },
        ...{ mobile: null, mobile_link: null, address_1: null, address_2: null, city: null, county: null },
        ...{ postcode: 'SW1A 1AA', avatar_url: null },
      },
    })
    const retrieved = await tenant.client.request('GET', `/leads/${lead.reference}`)
    expect(retrieved.text).toBe(answer.text)
    const upperCase = await tenant.client.request('GET', `/leads/${lead.reference.toUpperCase()}`)
    expect(upperCase.text).toBe(answer.text)
    expect((await webhookOf(lead.reference)).body.toString()).toBe(answer.text)
  })

  test('keeps no field of the visitor null when nothing is known of it', async () => {
    const lead = await tenant.send<Lead>('POST', '/leads', { json: LEAD, headers: { 'user-agent': '' } })
    expect(lead['user_agent']).toBe('unknown')
    expectWholeLead(lead, { item: ITEM_IN_RETRIEVE })
  })
})

describe('a lead with quotes', () => {
  test('comes back from Retrieve with quotes, items, images, product styles and options to the letter', async () => {
    const answer = await createVisitorLead()
    const lead = answer.json.data
    const retrieved = await tenant.client.request<{ data: Lead }>('GET', `/leads/${lead.reference}`)
    expect(retrieved.text).toBe(answer.text)
    expectWholeLead(lead, { item: ITEM_IN_RETRIEVE })
    expect(lead).toMatchObject({
      ...{
        value: 4500,
        description: 'After six, please.',
        user_agent: VISITOR.user_agent,
        ip: '203.0.113.7',
      },
      ...{ referrer: 'Direct', referrer_url: 'https://search.example/?q=windows', test: 1 },
      ...{ device_type: 'mobile', device_name: expect.stringContaining('iPhone'), os: 'iOS' },
      customer: { company_name: 'Analytical Engines', mobile_link: 'tel:+447700900123' },
    })
    const [quote, empty] = lead['quotes'] as { [field: string]: unknown; items: Record<string, unknown>[] }[]
    expect(quote).toMatchObject({ lead_id: lead.id, status: 'complete' })
    expect(empty).toMatchObject({ lead_id: lead.id, status: 'draft', items: [] })
    const [first] = quote!.items
    expect(first).toMatchObject({
      ...{ quote_id: quote!['id'], product_style_id: 12, name: 'Casement', price: 45900 },
      ...{ cost: null, margin: null, tax: null, minimum: null, maximum: null },
      ...{ format: 'range', hidden: 1, status: 'active' },
      product_style: { sku: 'CAS-2', name: 'Casement, two panes', product: { name: 'Window' } },
      image: {
        ...{
          id: imageId,
          name: null,
          file_name: 'front.png',
          file_size: PNG.length,
          content_type: 'image/png',
        },
        ...{ alt: null, public: 1, processed: 1 },
      },
    })
    expect(Object.keys(first!['product_style'] as object)).toEqual(['sku', 'name', 'product'])
    expect(answer.text).toContain(`"options":${OPTIONS}`)
    expect(answer.text).toContain('"options":{}')
  })

  test('has images whose address lies under the assets address and answers with their bytes', async () => {
    const lead = (await createVisitorLead()).json.data
    const [{ items }] = lead['quotes'] as [{ items: { image: { url: string } }[] }]
    const { url } = items[0]!.image
    expect(url.startsWith(`${stage.system.baseUrl}/assets/`)).toBe(true)
    const image = await tenant.client.request('GET', url, { token: '' })
    expect(image.status).toBe(200)
    expect(image.headers['content-type']).toBe('image/png')
    expect(image.bytes.equals(PNG)).toBe(true)
  })

  test('is told to receivers as Retrieve shows it, without the product styles', async () => {
    const answer = await createVisitorLead()
    const { body } = await webhookOf(answer.json.data.reference)
    const style =
      /"product_style":\{"sku":"CAS-2","name":"Casement, two panes","product":\{"name":"Window"\}\},/g
    expect(answer.text.match(style)).toHaveLength(2)
    expect(body.toString()).toBe(answer.text.replace(style, ''))
    const event = JSON.parse(body.toString()) as { data: Lead }
    expect(Object.keys(event)).toEqual(['data'])
    expectWholeLead(event.data, { item: ITEM_IN_WEBHOOK })
  })
})

test('a page of leads has list items, newest first, inside the fields of the interface', async () => {
  const lead = (await createVisitorLead()).json.data
  const page = await tenant.client.request<Record<string, unknown>>('GET', '/leads')
  expect(Object.keys(page.json)).toEqual(PAGE_FIELDS)
  const data = page.json['data'] as Lead[]
  for (const one of data) expectRecord(one, LIST_ITEM)
  const { customer, quotes, ...listed } = lead
  expect(data[0]).toEqual(listed)
  expect(data.map(({ id }) => id)).toEqual(data.map(({ id }) => id).sort((a, b) => b - a))
})

test('an image and an attachment are Images of the interface', async () => {
  const { reference } = await tenant.createLead()
  const parts = [
    { name: 'name', value: 'Front' },
    { name: 'file', value: PNG, fileName: 'a.png' },
  ]
  for (const path of ['/manage/images', `/leads/${reference}/attachments`]) {
    const record = await tenant.send<Record<string, unknown>>('POST', path, { multipart: parts })
    expectRecord(record, IMAGE)
    const isPublic = path === '/manage/images' ? 1 : 0
    expect(record).toMatchObject({ name: 'Front', file_name: 'a.png', public: isPublic, processed: 1 })
  }
})

test('appointments and callbacks answer with what was scheduled, in UTC', async () => {
  const { reference } = await tenant.createLead()
  const user = await tenant.send('POST', '/manage/users', { json: { email: 'g@example.com', name: 'Grace' } })
  for (const what of ['appointments', 'callbacks']) {
    const entry = await tenant.send<Record<string, unknown>>('POST', `/leads/${reference}/${what}`, {
      json: { notify: false, user_id: user.id, date: '01/07/2027 14:30' },
    })
    expect(Object.keys(entry)).toEqual(['id', 'lead_reference', 'user_id', 'date', 'notify', 'created_at'])
    expect(entry).toEqual({
      ...{ id: expect.any(Number), lead_reference: reference, user_id: user.id, notify: false },
      ...{ date: '2027-07-01T13:30:00.000000Z', created_at: expect.stringMatching(TIMESTAMP) },
    })
  }
})

test('what was scheduled and attached is listed, newest first, cursor by cursor', async () => {
  const { reference } = await tenant.createLead()
  const user = await tenant.send('POST', '/manage/users', { json: { email: 'l@example.com', name: 'Lin' } })
  const json = { notify: false, user_id: user.id, date: '01/07/2027 14:30' }
  const multipart = [
    { name: 'name', value: 'Front' },
    { name: 'file', value: PNG, fileName: 'a.png' },
  ]
  const [bodies, count] = [{ appointments: { json }, callbacks: { json }, attachments: { multipart } }, 101]
  for (const [what, body] of Object.entries(bodies)) {
    const path = `/leads/${reference}/${what}`
    const made = await Promise.all(
      Array.from({ length: what === 'appointments' ? count : 2 }, () =>
        tenant.send<{ id: number }>('POST', path, body),
      ),
    )
    // Scheduling answers with the fields of the interface alone.
    const shown = what === 'attachments' ? {} : { cancelled_at: null }
    const newestFirst = made.toSorted((a, b) => b.id - a.id).map((record) => ({ ...record, ...shown }))
    const list = async (cursor = '') =>
      (await tenant.client.request<object>('GET', `${path}?cursor=${cursor}`)).json as {
        data: object[]
        next_cursor: string | null
      }
    const first = await list()
    expect(first.data).toEqual(newestFirst.slice(0, 100))
    if (what !== 'appointments') expect(first.next_cursor).toBeNull()
    else expect(await list(first.next_cursor!)).toEqual({ data: newestFirst.slice(100), next_cursor: null })
  }
})

test('the statuses are the thirteen of the interface', async () => {
  const answer = await tenant.client.request('GET', '/leads/statuses')
  expect(answer.status).toBe(200)
  expect(answer.json).toEqual({ data: STATUSES })
})

test('a webhook carries exactly the headers of the interface, and those of Standard Webhooks', async () => {
  const { reference } = await tenant.createLead()
  const { method, url, rawHeaders, headers, body } = await webhookOf(reference)
  expect([method, url]).toEqual(['POST', '/hooks/leads'])
  const named = Object.fromEntries(
    rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1]!]] : [])),
  )
  expect(named).toMatchObject({
    'Content-Type': 'application/json',
    'User-Agent': expect.stringMatching(/^Leadwire\/\d+\.\d+\.\d+$/),
    'X-SERVICE-Signature': createHmac('sha1', secret).update(body).digest('hex'),
    'X-SERVICE-Account-Key': tenant.account.api_key,
  })
  expect(headers['content-length']).toBe(String(body.length))

  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = named
  expect(secret).toMatch(/^whsec_/)
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body.toString()}`).digest('base64')
  expect(signature).toBe(`v1,${mac}`)
  expect(Math.abs(Date.now() / 1000 - Number(timestamp))).toBeLessThan(60)
  expect(named).toMatchObject({
    'webhook-sequence': expect.stringMatching(/^[1-9]\d*$/),
    'webhook-lead-version': '1',
  })
  expect(named['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)
})

test('a secret that the receiver chose signs as it is', async () => {
  const chosen = await tenant.listen({ secret: 'correct horse – battery' })
  await tenant.createLead()
  await eventually(() => expect(chosen.receiver.requests).toHaveLength(1))
  const [{ body, headers }] = chosen.receiver.requests as [ReceivedRequest]
  const mac = createHmac('sha1', 'correct horse – battery').update(body).digest('hex')
  expect(headers['x-service-signature']).toBe(mac)
})

test('a webhook belongs to the trace of the request that made its lead', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const { reference } = await tenant.send<Lead>('POST', '/leads', {
    json: LEAD,
    headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` },
  })
  expect((await webhookOf(reference)).headers['traceparent']).toMatch(
    new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`),
  )
})
