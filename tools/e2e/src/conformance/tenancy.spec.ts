import { eventually } from '@leadwire/test-kit'
import { PNG } from '../files/samples.fixture'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let own: Tenant
let other: Tenant
let lead: Lead
beforeAll(async () => {
  stage = await joinStage()
  own = await stage.newTenant()
  other = await stage.newTenant()
  lead = await own.createLead()
})
afterAll(() => stage.stop())

const status = async (method: string, path: string, json?: object) =>
  (await other.client.request(method, path, json ? { json } : {})).status

const file = [
  { name: 'name', value: 'a' },
  { name: 'file', value: PNG, fileName: 'a.png' },
]

test('another account’s lead is not there, whatever is asked of it', async () => {
  const user = await other.send('POST', '/manage/users', { json: { email: 'o@example.com', name: 'O' } })
  const path = `/leads/${lead.reference}`
  expect(await status('GET', path)).toBe(404)
  expect(await status('PATCH', path, { value: 1 })).toBe(404)
  const entry = { notify: false, user_id: user.id, date: '01/02/2027 10:00' }
  expect(await status('POST', `${path}/appointments`, entry)).toBe(404)
  expect(await status('POST', `${path}/callbacks`, entry)).toBe(404)
  const attach = await other.client.request('POST', `${path}/attachments`, { multipart: file })
  expect(attach.status).toBe(404)
  for (const what of ['appointments', 'callbacks', 'attachments'])
    expect(await status('GET', `${path}/${what}`)).toBe(404)
  expect(await own.send('GET', path)).toEqual(lead)
  const list = await other.client.request('GET', '/leads')
  expect(list.json).toMatchObject({ data: [], total: 0 })
})

test('another account’s attachment is not there, not even under a lead of one’s own', async () => {
  const { url, id } = await own.send<{ url: string; id: number }>(
    'POST',
    `/leads/${lead.reference}/attachments`,
    {
      multipart: file,
    },
  )
  expect((await own.client.request('GET', url)).status).toBe(200)
  expect((await other.client.request('GET', url)).status).toBe(404)
  expect((await other.client.request('GET', url, { token: '' })).status).toBe(401)
  const { reference } = await other.createLead()
  expect(await status('GET', `/leads/${reference}/attachments/${id}`)).toBe(404)
  const sibling = await own.createLead()
  const astray = await own.client.request('GET', `/leads/${sibling.reference}/attachments/${id}`)
  expect(astray.status).toBe(404)
})

test('another account’s users are unknown', async () => {
  const user = await own.send('POST', '/manage/users', { json: { email: 'u@example.com', name: 'U' } })
  const { reference } = await other.createLead()
  const invalid = async (method: string, path: string, json: object) => {
    const answer = await other.client.request<{ errors: object }>(method, path, { json })
    return [answer.status, Object.keys(answer.json.errors ?? {})]
  }
  expect(await invalid('POST', '/leads', { ...LEAD, user_id: user.id })).toEqual([422, ['user_id']])
  expect(await invalid('PATCH', `/leads/${reference}`, { user_email: 'u@example.com' })).toEqual([
    422,
    ['user_email'],
  ])
  const entry = { notify: false, user_id: user.id, date: '01/02/2027 10:00' }
  for (const what of ['appointments', 'callbacks'])
    expect(await invalid('POST', `/leads/${reference}/${what}`, entry)).toEqual([422, ['user_id']])
  const again = await other.send('POST', '/manage/users', { json: { email: 'u@example.com', name: 'U' } })
  expect(again.id).not.toBe(user.id)
  const address = `/manage/users/${user.id}`
  expect(await status('GET', address)).toBe(404)
  expect(await status('PATCH', address, { name: 'Theirs' })).toBe(404)
  expect(await status('DELETE', address)).toBe(404)
  expect(await own.send('GET', address)).toEqual(user)
  expect(await other.send('GET', '/manage/users')).not.toContainEqual(
    expect.objectContaining({ id: user.id }),
  )
})

test('another account’s images can’t be put into quotes', async () => {
  const image = await own.send('POST', '/manage/images', { multipart: file.slice(1) })
  const product_style = { sku: 'S', name: 'N', product: { name: 'P' } }
  const item = { product_style_id: 1, name: 'I', price: 1, product_style, image_id: image.id }
  const json = { ...LEAD, quotes: [{ items: [item] }] }
  expect(await own.send('POST', '/manage/leads', { json })).toBeDefined()
  const answer = await other.client.request<{ errors: object }>('POST', '/manage/leads', { json })
  expect([answer.status, Object.keys(answer.json.errors)]).toEqual([422, ['quotes.0.items.0.image_id']])
})

test('another account’s tokens, endpoints and deliveries are not there', async () => {
  const { receiver, id } = await own.listen()
  const { id: tokenId, token } = await own.newToken({})
  await own.createLead()
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const deliveries = await own.client.request<{ data: { id: number }[] }>('GET', '/manage/deliveries')
  const delivery = deliveries.json.data[0]!.id

  expect(await status('DELETE', `/manage/tokens/${tokenId}`)).toBe(404)
  expect((await own.client.request('GET', '/leads', { token })).status).toBe(200)
  const endpoint = `/manage/webhook-endpoints/${id}`
  expect(await status('GET', endpoint)).toBe(404)
  expect(await status('PATCH', endpoint, { enabled: false })).toBe(404)
  expect(await status('DELETE', endpoint)).toBe(404)
  expect(await own.send('GET', endpoint)).toMatchObject({ enabled: true })
  expect(await status('GET', `/manage/deliveries/${delivery}`)).toBe(404)

  expect(await other.send('GET', '/manage/webhook-endpoints')).toEqual([])
  expect(await other.send<{ id: number }[]>('GET', '/manage/tokens')).not.toContainEqual(
    expect.objectContaining({ id: tokenId }),
  )
  for (const filter of ['', `?endpoint_id=${id}`, `?lead_reference=${lead.reference}`]) {
    const found = await other.client.request('GET', `/manage/deliveries${filter}`)
    expect(found.json).toMatchObject({ data: [], total: 0 })
  }
})

test('a receiver hears of its own account’s leads only', async () => {
  const { receiver } = await own.listen()
  const foreign = await other.listen()
  const theirs = await other.createLead()
  const ours = await own.createLead()
  const told = (body: Buffer) => (JSON.parse(body.toString()) as { data: Lead }).data.reference
  await eventually(() => {
    expect(receiver.requests.map(({ body }) => told(body))).toEqual([ours.reference])
    expect(foreign.receiver.requests.map(({ body }) => told(body))).toEqual([theirs.reference])
  })
  expect(foreign.receiver.requests[0]!.headers['x-service-account-key']).toBe(other.account.api_key)
})

test('an idempotency key belongs to its token', async () => {
  const headers = { 'idempotency-key': 'shared' }
  const ours = await own.send('POST', '/leads', { json: LEAD, headers })
  const theirs = await other.send('POST', '/leads', { json: LEAD, headers })
  const { token } = await own.newToken({})
  const third = await own.send('POST', '/leads', { json: LEAD, headers, token })
  expect(new Set([ours.reference, theirs.reference, third.reference]).size).toBe(3)
})
