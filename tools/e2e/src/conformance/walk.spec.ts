import { createHmac } from 'node:crypto'
import { eventually } from '@leadwire/test-kit'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

test('a lead is created, listed, retrieved, updated, scheduled, given a file, and told to a receiver', async () => {
  const { receiver, secret } = await tenant.listen()
  const user = await tenant.send('POST', '/manage/users', {
    json: { email: 'sales@example.com', name: 'Sal' },
  })
  const lead = await tenant.createLead({ user_id: user.id })
  const path = `/leads/${lead.reference}`

  const page = await tenant.client.request<{ data: Lead[] }>('GET', '/leads')
  expect(page.json.data.map(({ reference }) => reference)).toEqual([lead.reference])
  expect(await tenant.send('GET', path)).toEqual(lead)

  const updated = await tenant.send<Lead>('PATCH', path, {
    json: { value: 4500, status: 'sold', user_email: 'SALES@example.com', notify: true },
  })
  expect(updated).toEqual({ ...lead, value: 4500, status: 'sold', updated_at: expect.any(String) })
  expect(updated.updated_at > lead.updated_at).toBe(true)
  expect(await tenant.send('PATCH', path, { json: {} })).toEqual(updated)

  const entry = { notify: true, user_id: user.id, date: '24/12/2027 09:30' }
  for (const what of ['appointments', 'callbacks']) {
    const scheduled = await tenant.send<object>('POST', `${path}/${what}`, { json: entry })
    expect(scheduled).toMatchObject({ lead_reference: lead.reference, date: '2027-12-24T09:30:00.000000Z' })
  }
  expect(await tenant.send('GET', path)).toMatchObject({ status: 'sold' })

  const bytes = Buffer.from('Ring twice.\n')
  const attachment = await tenant.send<{ url: string; name: string }>('POST', `${path}/attachments`, {
    multipart: [
      { name: 'name', value: 'Note' },
      { name: 'file', value: bytes, fileName: 'note.txt', type: 'text/plain' },
    ],
  })
  expect(attachment.url.startsWith(`${stage.system.baseUrl}${path}/attachments/`)).toBe(true)
  const download = await tenant.client.request('GET', attachment.url)
  expect([download.status, download.text]).toEqual([200, 'Ring twice.\n'])

  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const [webhook] = receiver.requests
  expect(JSON.parse(webhook!.body.toString())).toEqual({ data: lead })
  expect(webhook!.headers['x-service-signature']).toBe(
    createHmac('sha1', secret).update(webhook!.body).digest('hex'),
  )
})

describe('forms', () => {
  test('create, update and schedule', async () => {
    const user = await tenant.send('POST', '/manage/users', {
      json: { email: 'form@example.com', name: 'F' },
    })
    const userId = String(user.id)
    const lead = await tenant.send<Lead>('POST', '/leads', {
      form: { ...LEAD, name: '  Bay & bow: 100% ünïcode ', company_name: '', user_id: userId },
    })
    expect(lead).toMatchObject({ name: 'Bay & bow: 100% ünïcode', customer: { company_name: null } })
    const path = `/leads/${lead.reference}`
    const updated = await tenant.send('PATCH', path, { form: { value: '4500', status: 'lost', notify: '1' } })
    expect(updated).toMatchObject({ value: 4500, status: 'lost' })
    for (const what of ['appointments', 'callbacks']) {
      const form = { notify: '0', user_id: userId, date: '01/02/2027 10:00' }
      const entry = await tenant.send('POST', `${path}/${what}`, { form })
      expect(entry).toMatchObject({ notify: false, user_id: user.id, date: '2027-02-01T10:00:00.000000Z' })
    }
  })

  test('a visitor lead with nested quotes', async () => {
    const image = await tenant.send('POST', '/manage/images', {
      multipart: [{ name: 'file', value: '<svg xmlns="http://www.w3.org/2000/svg"/>', fileName: 'a.svg' }],
    })
    const item = 'quotes[0][items][0]'
    const lead = await tenant.send<Lead>('POST', '/manage/leads', {
      form: {
        ...{ ...LEAD, value: '12', test: '1' },
        [`${item}[product_style_id]`]: '7',
        [`${item}[name]`]: 'Casement',
        [`${item}[price]`]: '45900',
        [`${item}[hidden]`]: '0',
        [`${item}[image_id]`]: String(image.id),
        [`${item}[product_style][sku]`]: 'CAS',
        [`${item}[product_style][name]`]: 'Casement',
        [`${item}[product_style][product][name]`]: 'Window',
        [`${item}[options][width]`]: '1200',
        [`${item}[options][glass]`]: 'Clear',
      },
    })
    expect(lead).toMatchObject({
      ...{ value: 12, test: 1 },
      quotes: [
        {
          items: [
            {
              ...{ product_style_id: 7, price: 45900, hidden: 0, image: { id: image.id } },
              ...{
                product_style: { product: { name: 'Window' } },
                options: { width: '1200', glass: 'Clear' },
              },
            },
          ],
        },
      ],
    })
  })

  test.each([
    ['true', true],
    ['false', false],
  ])('"%s" is a boolean in a form and in JSON', async (text, notify) => {
    const { reference } = await tenant.createLead()
    await tenant.send('PATCH', `/leads/${reference}`, { form: { notify: text } })
    const user = await tenant.send('POST', '/manage/users', {
      json: { email: `${text}@example.com`, name: 'U' },
    })
    const form = { notify: text, user_id: String(user.id), date: '24/12/2026 14:30' }
    expect(await tenant.send('POST', `/leads/${reference}/callbacks`, { form })).toMatchObject({ notify })
    const json = { ...form, user_id: user.id }
    expect(await tenant.send('POST', `/leads/${reference}/callbacks`, { json })).toMatchObject({ notify })
  })

  test('integers and flags may come as strings in JSON too', async () => {
    const { reference } = await tenant.createLead()
    for (const notify of [true, false, 1, 0, '1', '0']) {
      const json = { value: '7', notify }
      expect(await tenant.send('PATCH', `/leads/${reference}`, { json })).toMatchObject({ value: 7 })
    }
  })
})

describe('addresses and methods', () => {
  const request = (...args: Parameters<Tenant['client']['request']>) => tenant.client.request(...args)

  test('a request without a body needs no content type; its missing fields are told', async () => {
    const answer = await request('POST', '/leads')
    expect(answer.status).toBe(422)
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
    const { errors, ...problem } = answer.json as { errors: object }
    expect(Object.keys(errors)).toEqual(Object.keys(LEAD))
    expect(problem).toEqual({
      ...{ type: expect.any(String), title: expect.any(String), status: 422 },
      ...{ detail: expect.any(String), request_id: answer.headers['x-request-id'] },
    })
  })

  test.each([
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
  ])('%s is 415', async (type) => {
    const headers = { 'content-type': type }
    expect(await request('POST', '/leads', { body: '{}', headers })).toMatchObject({ status: 415 })
  })

  test('a body that does not say what it is is 415', async () => {
    expect(await request('POST', '/leads', { body: JSON.stringify(LEAD) })).toMatchObject({ status: 415 })
  })

  test('what is no JSON is 400, what is no object 422, what is too long 413', async () => {
    const headers = { 'content-type': 'application/json' }
    expect(await request('POST', '/leads', { body: '{"name":', headers })).toMatchObject({ status: 400 })
    expect(await request('POST', '/leads', { body: '[]', headers })).toMatchObject({ status: 422 })
    const long = JSON.stringify({ ...LEAD, extra: 'x'.repeat(2 ** 20) })
    expect(await request('POST', '/leads', { body: long, headers })).toMatchObject({ status: 413 })
  })

  test('HEAD answers as GET does, without its body', async () => {
    const { reference } = await tenant.createLead()
    for (const path of ['/leads', '/leads/statuses', `/leads/${reference}`, '/healthz', '/openapi.json']) {
      const get = await request('GET', path)
      const head = await request('HEAD', path)
      expect([path, head.status, head.text]).toEqual([path, 200, ''])
      expect(head.headers['content-type']).toBe(get.headers['content-type'])
      expect(head.headers['content-length']).toBe(String(get.bytes.length))
    }
    expect(await request('HEAD', '/leads', { token: 'no' })).toMatchObject({ status: 401, text: '' })
  })

  test.each([
    ['PUT', '/leads', ['GET', 'HEAD', 'POST']],
    ['DELETE', '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10', ['GET', 'HEAD', 'PATCH']],
    ['PATCH', '/leads/statuses', ['GET', 'HEAD']],
    ['POST', '/leads/statuses', ['GET', 'HEAD']],
    ['PATCH', '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10/appointments', ['GET', 'HEAD', 'POST']],
    ['DELETE', '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10/callbacks', ['GET', 'HEAD', 'POST']],
    ['GET', '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10/appointments/1', ['DELETE', 'PATCH']],
    ['POST', '/calendars/lw_cal_x.ics', ['GET', 'HEAD']],
    ['PUT', '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10/attachments', ['GET', 'HEAD', 'POST']],
    ['PUT', '/manage/tokens', ['GET', 'HEAD', 'POST']],
    ['POST', '/healthz', ['GET', 'HEAD']],
  ])('%s %s is 405 and says what is allowed', async (method, path, allowed) => {
    const answer = await request(method, path)
    expect(answer.status).toBe(405)
    expect(String(answer.headers['allow']).split(', ').sort()).toEqual(allowed)
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
  })

  test.each([
    '/lead',
    '/leads/x/y',
    '/manage',
    '/leads/statuses/x',
    '//leads',
    '/leads/%00',
  ])('nothing is at %s', async (path) => {
    const answer = await request('GET', path)
    expect(answer.status).toBe(404)
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
  })

  test.each([
    'nonsense',
    '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f1',
    '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10',
  ])('no lead is at %s, whatever is asked of it', async (reference) => {
    expect((await request('GET', `/leads/${reference}`)).status).toBe(404)
    expect((await request('PATCH', `/leads/${reference}`, { json: { value: -1 } })).status).toBe(404)
    for (const what of ['appointments', 'callbacks', 'attachments'])
      for (const method of ['POST', 'GET'])
        expect((await request(method, `/leads/${reference}/${what}`)).status).toBe(404)
  })

  test('a slash at the end changes nothing', async () => {
    const { reference } = await tenant.createLead()
    for (const path of ['/leads', '/leads/statuses', `/leads/${reference}`, '/manage/users'])
      expect((await request('GET', `${path}/`)).status).toBe(200)
  })
})
