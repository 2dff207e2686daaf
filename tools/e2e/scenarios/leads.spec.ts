import { eventually } from '@leadwire/test-kit'
import type { RequestOptions } from '../support/client'
import { FILE, IMAGE } from '../support/furnish'
import {
  expectRecord,
  expectWholeLead,
  IMAGE as IMAGE_TABLE,
  ITEM_IN_RETRIEVE,
  ITEM_IN_WEBHOOK,
  LIST_ITEM,
  PAGE_FIELDS,
  STATUSES,
  TIMESTAMP,
} from '../support/interface-tables'
import { SAMPLES } from '../support/samples'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../support/stage'

const MAX_FILE_BYTES = 10_485_760
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'

// Responses must return the keys in this order. This is JSON text, because a JavaScript object would move
// numeric keys to the front.
const OPTIONS =
  '{"width":1200,"10":"ten","2":"two","depth":70.50,"glass":"\\u0043lear","__proto__":"x","frame_material":"uPVC"}'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const request = <T = { data: Lead }>(method: string, path: string, options?: RequestOptions) =>
  tenant.client.request<T>(method, path, options)

const newUser = async () =>
  (await tenant.send('POST', '/manage/users', { json: { email: 'sam@example.com', name: 'Sam' } })).id

test('the statuses are the thirteen of the interface, and a lead can have each of them', async () => {
  expect(await request('GET', '/leads/statuses')).toMatchObject({ status: 200, json: { data: STATUSES } })
  for (const status of STATUSES) {
    const test = status === 'test' ? 1 : 0
    const { reference } = await tenant.createLead({ status })
    expect(await tenant.send('GET', `/leads/${reference}`)).toMatchObject({ status, test })
  }
})

test('a created lead has exactly the fields of the interface, and is retrieved and listed as it was created', async () => {
  const created = await request('POST', '/leads', { json: LEAD, headers: { 'user-agent': FIREFOX } })
  expect([created.status, Object.keys(created.json)]).toEqual([200, ['data']])
  expect(created.headers['content-type']).toMatch(/^application\/json/)
  const lead = created.json.data
  expectWholeLead(lead, { item: ITEM_IN_RETRIEVE })
  expect(lead).toMatchObject({
    name: 'Bay window',
    value: 0,
    description: null,
    postcode: 'SW1A 1AA',
    user_agent: FIREFOX,
    browser: 'Firefox',
    browser_version: '145.0',
    os: 'Linux',
    referrer: 'Website',
    referrer_url: null,
    status: 'open',
    type: 'quote',
    test: 0,
    quotes: [],
    updated_at: lead.created_at,
    customer: {
      first_name: 'Ada',
      last_name: 'Lovelace',
      name: 'Ada Lovelace',
      company_name: null,
      email: 'ada@example.com',
      phone: '020 7946 0123',
      phone_link: 'tel:+442079460123',
      mobile: null,
      mobile_link: null,
      address_1: null,
      address_2: null,
      city: null,
      county: null,
      postcode: 'SW1A 1AA',
      avatar_url: null,
    },
  })
  for (const reference of [lead.reference, lead.reference.toUpperCase()])
    expect((await request('GET', `/leads/${reference}`)).text).toBe(created.text)
  const page = await request<{ data: Lead[] }>('GET', '/leads')
  expect(Object.keys(page.json)).toEqual(PAGE_FIELDS)
  expectRecord(page.json.data[0], LIST_ITEM)
  const { customer, quotes, ...listed } = lead
  expect(page.json.data).toEqual([listed])
  const unnamed = await tenant.send('POST', '/leads', { json: LEAD, headers: { 'user-agent': '' } })
  expectWholeLead(unnamed, { item: ITEM_IN_RETRIEVE })
  expect(unnamed).toMatchObject({ user_agent: 'unknown' })
})

test('a lead with quotes comes back unchanged with items, images and product styles; webhooks have no product styles', async () => {
  const { receiver } = await tenant.listen()
  const image = await tenant.send('POST', '/manage/images', { multipart: IMAGE })
  const visitor = {
    ...LEAD,
    value: 4500,
    description: 'After six, please.',
    referrer: 'Direct',
    test: true,
    ip: '203.0.113.7',
    mobile: '07700 900123',
    referrer_url: 'https://search.example/?q=windows',
    user_agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1',
  }
  const style = '"product_style":{"sku":"CAS-2","name":"Casement, two panes","product":{"name":"Window"}},'
  const item = `{"product_style_id":12,"name":"Casement","price":45900,"hidden":true,"image_id":${image.id},${style}"options":${OPTIONS}}`
  const quotes = `[{"items":[${item},${item}]},{"status":"draft"}]`
  const created = await request('POST', '/manage/leads', {
    body: `${JSON.stringify(visitor).slice(0, -1)},"quotes":${quotes}}`,
    headers: { 'content-type': 'application/json' },
  })
  expect([created.status, created.text]).toEqual([200, expect.stringContaining(`"options":${OPTIONS}`)])
  const lead = created.json.data
  expectWholeLead(lead, { item: ITEM_IN_RETRIEVE })
  expect((await request('GET', `/leads/${lead.reference}`)).text).toBe(created.text)
  expect(lead).toMatchObject({
    value: 4500,
    description: 'After six, please.',
    referrer: 'Direct',
    test: 1,
    ip: '203.0.113.7',
    device_type: 'mobile',
    device_name: expect.stringContaining('iPhone'),
    os: 'iOS',
    customer: { mobile: '07700 900123', mobile_link: 'tel:+447700900123' },
  })
  type Quote = { id: number; items: { image: { url: string } }[] }
  const [quote, empty] = lead['quotes'] as [Quote, Quote]
  expect(empty).toMatchObject({ lead_id: lead.id, status: 'draft', items: [] })
  expect(quote).toMatchObject({ lead_id: lead.id, status: 'complete' })
  expect(quote.items).toHaveLength(2)
  expect(quote.items[0]).toMatchObject({
    quote_id: quote.id,
    product_style_id: 12,
    price: 45900,
    hidden: 1,
    format: 'range',
    cost: null,
    margin: null,
    tax: null,
    minimum: null,
    maximum: null,
    status: 'active',
    product_style: { sku: 'CAS-2', name: 'Casement, two panes', product: { name: 'Window' } },
    image: { id: image.id, file_name: 'front.png', content_type: 'image/png', public: 1, processed: 1 },
  })
  const { url } = quote.items[0]!.image
  expect(url.startsWith(`${stage.system.baseUrl}/assets/`)).toBe(true)
  expect((await request('GET', url, { token: '' })).bytes).toEqual(IMAGE[0]!.value)

  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const sent = receiver.requests[0]!.body.toString()
  expect(sent).toBe(created.text.replaceAll(style, ''))
  expectWholeLead(JSON.parse(sent).data, { item: ITEM_IN_WEBHOOK })
})

test('leads are listed newest first, 20 on a page, and pages link to each other', async () => {
  type Page = { data: Lead[]; [field: string]: unknown }
  const path = `${stage.system.baseUrl}/leads`
  const first_page_url = `${path}?page=1`
  const read = async (address: string): Promise<Page> => {
    const { status, json } = await request<Page>('GET', address)
    expect(status).toBe(200)
    return json
  }
  expect(await read('/leads')).toEqual({
    current_page: 1,
    data: [],
    from: null,
    to: null,
    per_page: 20,
    total: 0,
    path,
    last_page: 1,
    first_page_url,
    last_page_url: first_page_url,
    next_page_url: null,
    prev_page_url: null,
  })

  const created: Lead[] = []
  for (let number = 1; number <= 21; number += 1) created.unshift(await tenant.createLead())
  const listed = created.map(({ customer, quotes, ...lead }) => lead)
  const last_page_url = `${path}?page=2`
  const common = { first_page_url, last_page_url, last_page: 2, path, per_page: 20, total: 21 }
  const first = {
    ...common,
    current_page: 1,
    from: 1,
    to: 20,
    next_page_url: last_page_url,
    prev_page_url: null,
    data: listed.slice(0, 20),
  }
  const second = {
    ...common,
    current_page: 2,
    from: 21,
    to: 21,
    next_page_url: null,
    prev_page_url: first_page_url,
    data: listed.slice(20),
  }
  expect(await read('/leads')).toEqual(first)
  expect(await read(last_page_url)).toEqual(second)
  expect(await read(first_page_url)).toEqual(first)
  expect(await read('/leads?page=9')).toMatchObject({ ...common, current_page: 9, data: [], from: null })
  for (const query of ['page=0', 'page=-1', 'page=1.5', 'page=two', 'page=', 'page[]=2', 'unknown=1'])
    expect([query, await read(`/leads?${query}`)]).toEqual([query, first])
})

test('value, status and user of a lead are updated; of many clients with the same version one succeeds', async () => {
  const userId = await newUser()
  const { reference, ...created } = await tenant.createLead()
  const path = `/leads/${reference}`
  const json = { value: 4500, status: 'sold', user_email: 'SAM@example.com', notify: false }
  const updated = await request('PATCH', path, { json, headers: { 'x-request-id': 'update-1' } })
  expect(updated.json.data).toEqual({
    ...created,
    reference,
    value: 4500,
    status: 'sold',
    updated_at: expect.stringMatching(TIMESTAMP),
  })
  expect(updated.json.data.updated_at > created.updated_at).toBe(true)
  expect((await request('GET', path)).text).toBe(updated.text)
  expect((await request('PATCH', path, { json: {} })).text).toBe(updated.text)
  const found = await request<{ data: Lead[] }>('GET', `/leads?assigned_to=${userId}`)
  expect(found.json.data).toMatchObject([{ reference }])

  const etag = String(updated.headers['etag'])
  const unchanged = await request('GET', path, { headers: { 'if-none-match': etag } })
  expect([unchanged.status, unchanged.text]).toEqual([304, ''])
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      request('PATCH', path, { json: { value: index }, headers: { 'if-match': etag } }),
    ),
  )
  const statuses = answers.map(({ status }) => status).toSorted()
  expect(statuses).toEqual([200, ...Array(19).fill(412)])
  const winner = answers.find(({ status }) => status === 200)!
  expect(await request('GET', path, { headers: { 'if-none-match': etag } })).toMatchObject({
    status: 200,
    text: winner.text,
  })
  const [, second, first] = await tenant.send<object[]>('GET', `/manage${path}/history`)
  expect(first).toMatchObject({ version: 1, action: 'created', at: created.created_at, changes: [] })
  expect(second).toEqual({
    version: 2,
    action: 'updated',
    at: updated.json.data.updated_at,
    actor: { type: 'token', id: expect.any(Number), name: 'first' },
    token: { id: expect.any(Number), name: 'first' },
    request_id: 'update-1',
    changes: [
      { field: 'status', from: 'open', to: 'sold' },
      { field: 'value', from: 0, to: 4500 },
      { field: 'user', from: null, to: { id: userId, email: 'sam@example.com' } },
    ],
  })
})

test('appointments and callbacks are scheduled in London time, listed, moved and cancelled', async () => {
  const user_id = await newUser()
  const [lead, sibling] = [await tenant.createLead(), await tenant.createLead()]
  for (const kind of ['appointments', 'callbacks']) {
    const list = `/leads/${lead.reference}/${kind}`
    const json = { notify: false, user_id, date: '01/07/2027 14:30' }
    const summer = await tenant.send<Record<string, unknown>>('POST', list, { json })
    expect(Object.entries(summer)).toEqual([
      ['id', expect.any(Number)],
      ['lead_reference', lead.reference],
      ['user_id', user_id],
      ['date', '2027-07-01T13:30:00.000000Z'],
      ['notify', false],
      ['created_at', expect.stringMatching(TIMESTAMP)],
    ])
    const winter = await tenant.send<object>('POST', list, { json: { ...json, date: '24/12/2027 14:30' } })
    expect(winter).toMatchObject({ date: '2027-12-24T14:30:00.000000Z' })
    const open = { cancelled_at: null, done_at: null, remind: false }
    expect(await tenant.send('GET', list)).toEqual([
      { ...winter, ...open },
      { ...summer, ...open },
    ])

    const path = `${list}/${summer['id']}`
    const astray = path.replace(lead.reference, sibling.reference)
    expect(await request('PATCH', astray, { json: {} })).toMatchObject({ status: 404 })
    const moved = await tenant.send<object>('PATCH', path, { json: { date: '02/07/2027 09:00' } })
    expect(moved).toEqual({ ...summer, date: '2027-07-02T08:00:00.000000Z', ...open })
    const cancelled = await tenant.send<object>('DELETE', path)
    expect(cancelled).toEqual({ ...moved, cancelled_at: expect.stringMatching(TIMESTAMP) })
    expect(await tenant.send('DELETE', path)).toEqual(cancelled)
    expect(await request('PATCH', path, { json: {} })).toMatchObject({ status: 422 })
    expect(await tenant.send('GET', list)).toEqual([{ ...winter, ...open }, cancelled])
    // The first date does not exist. The time of the second date does not exist in London, where clocks go
    // forward at that time.
    for (const date of ['30/02/2027 10:00', '28/03/2027 01:30'])
      expect(await request('POST', list, { json: { ...json, date } })).toMatchObject({
        status: 422,
        json: { errors: { date: [expect.any(String)] } },
      })
  }
  expect(await tenant.send('GET', `/leads/${lead.reference}`)).toEqual(lead)
})

test('the schedule has the open entries of all leads by date, and a done entry leaves it until it is opened', async () => {
  const user_id = await newUser()
  const [first, second] = [await tenant.createLead(), await tenant.createLead({ name: 'Door' })]
  const pick = (record: unknown, names: string[]) =>
    Object.fromEntries(names.map((name) => [name, (record as Record<string, unknown>)[name]]))
  const schedule = async (lead: Lead, kind: string, date: string) => {
    const path = `/leads/${lead.reference}/${kind}s`
    const record = await tenant.send('POST', path, { json: { notify: false, user_id, date } })
    const entry = {
      kind,
      ...record,
      cancelled_at: null,
      done_at: null,
      remind: false,
      lead: pick(lead, ['reference', 'name', 'status', 'value']),
      customer: pick(lead['customer'], ['name', 'email', 'phone', 'mobile', 'postcode']),
      user: { id: user_id, name: 'Sam' },
    }
    return { entry, path: `${path}/${record.id}` }
  }
  const later = await schedule(first, 'appointment', '02/07/2027 10:00')
  const callback = await schedule(second, 'callback', '01/07/2027 10:00')
  const appointment = await schedule(first, 'appointment', '01/07/2027 10:00')
  const list = (query = '') => tenant.send<object[]>('GET', `/manage/schedule${query}`)
  expect(await list()).toEqual([appointment.entry, callback.entry, later.entry])
  expect(await list(`?user_id=${user_id}&kind=callback`)).toEqual([callback.entry])
  const day = 'from=2027-07-01T00:00:00Z&to=2027-07-02T00:00:00Z'
  expect(await list(`?${day}`)).toEqual([appointment.entry, callback.entry])

  const { done_at } = await tenant.send('PATCH', callback.path, { json: { done: true } })
  expect(done_at).toMatch(TIMESTAMP)
  const done = { ...callback.entry, done_at }
  const moved = { date: '03/07/2027 10:00' }
  expect(await request('PATCH', callback.path, { json: moved })).toMatchObject({ status: 422 })
  expect(await request('DELETE', callback.path)).toMatchObject({ status: 422 })
  expect(await list()).toEqual([appointment.entry, later.entry])
  expect(await list('?state=done')).toEqual([done])
  const cancelled = await tenant.send<object>('DELETE', later.path)
  expect(await list('?state=all')).toEqual([appointment.entry, done, { ...later.entry, ...cancelled }])
  await tenant.send('PATCH', callback.path, { json: { done: false } })
  expect(await list()).toEqual([appointment.entry, callback.entry])
})

test('a file of each format comes back byte for byte, up to 10mb, and other files are refused', async () => {
  const path = `/leads/${(await tenant.createLead()).reference}/attachments`
  const sibling = `/leads/${(await tenant.createLead()).reference}/attachments`
  const attach = (value: Buffer | string, fileName: string) =>
    request<{ data: Lead & { url: string }; errors: object }>('POST', path, {
      multipart: [
        { name: 'name', value: 'Plan' },
        { name: 'file', value, fileName },
      ],
    })
  const attached: object[] = []
  for (const { extension, type, bytes } of SAMPLES) {
    const { data } = (await attach(bytes, `plan.${extension}`)).json
    expectRecord(data, IMAGE_TABLE)
    expect(data).toMatchObject({
      name: 'Plan',
      file_name: `plan.${extension}`,
      file_size: bytes.length,
      public: 0,
      url: `${stage.system.baseUrl}${path}/${data.id}`,
    })
    attached.unshift(data)
    const download = await request('GET', data.url)
    expect([download.status, download.bytes]).toEqual([200, bytes])
    expect(download.headers).toMatchObject({
      'content-type': expect.stringContaining(type),
      'content-disposition': `attachment; filename="plan.${extension}"`,
      'content-security-policy': expect.stringMatching(/sandbox(?!.*allow-scripts)/),
      'x-content-type-options': 'nosniff',
    })
    expect(await request('GET', `${sibling}/${data.id}`)).toMatchObject({ status: 404 })
    const disguised = await attach(bytes, extension === 'png' ? 'plan.pdf' : 'plan.png')
    expect([disguised.status, Object.keys(disguised.json.errors)]).toEqual([422, ['file']])
  }
  expect(await tenant.send('GET', path)).toEqual(attached)
  for (const [value, name] of [
    ['<!doctype html><script>alert(1)</script>', 'plan.html'],
    ['', 'plan.txt'],
  ] as const)
    expect(await attach(value, name)).toMatchObject({ status: 422 })
  const largest = Buffer.alloc(MAX_FILE_BYTES, 'a')
  expect(await attach(largest, 'plan.txt')).toMatchObject({ status: 200 })
  expect(await attach(Buffer.concat([largest, largest.subarray(0, 1)]), 'plan.txt')).toMatchObject({
    status: 413,
  })
})

test('a form creates, updates and schedules as JSON does', async () => {
  const userId = String(await newUser())
  const image = await tenant.send('POST', '/manage/images', { multipart: FILE })
  const item = 'quotes[0][items][0]'
  const lead = await tenant.send<Lead>('POST', '/manage/leads', {
    form: {
      ...LEAD,
      name: '  Bay & bow: 100% ünïcode ',
      company_name: '',
      value: '12',
      test: '1',
      [`${item}[product_style_id]`]: '7',
      [`${item}[name]`]: 'Casement',
      [`${item}[price]`]: '45900',
      [`${item}[image_id]`]: String(image.id),
      [`${item}[product_style][sku]`]: 'CAS',
      [`${item}[product_style][name]`]: 'C',
      [`${item}[product_style][product][name]`]: 'Window',
      [`${item}[options][width]`]: '1200',
    },
  })
  expect(lead).toMatchObject({
    name: 'Bay & bow: 100% ünïcode',
    value: 12,
    test: 1,
    customer: { company_name: null },
    quotes: [{ items: [{ product_style_id: 7, price: 45900, hidden: 0, options: { width: '1200' } }] }],
  })
  const path = `/leads/${lead.reference}`
  const created = await tenant.send('POST', '/leads', { form: { ...LEAD, user_id: userId } })
  expect(created).toMatchObject({ name: 'Bay window', status: 'open' })
  const fields = { value: '4500', notify: 'false' }
  expect(await tenant.send('PATCH', path, { form: fields })).toMatchObject({ value: 4500 })
  expect(await tenant.send('PATCH', path, { json: { ...fields, value: '7' } })).toMatchObject({ value: 7 })
  for (const kind of ['appointments', 'callbacks']) {
    const form = { notify: '0', user_id: userId, date: '01/02/2027 10:00' }
    expect(await tenant.send('POST', `${path}/${kind}`, { form })).toMatchObject({
      notify: false,
      user_id: Number(userId),
      date: '2027-02-01T10:00:00.000000Z',
    })
  }
})
