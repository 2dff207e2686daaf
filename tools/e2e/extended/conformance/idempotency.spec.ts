import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { multipartBody } from '../../support/client'
import { PNG } from '../../support/samples'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../../support/stage'

let stage: SharedStage
let tenant: Tenant
let userId: number
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  userId = (await tenant.send('POST', '/manage/users', { json: { email: 'a@example.com', name: 'A' } })).id
})
afterAll(() => stage.stop())

const keyed = (key = randomUUID() as string) => ({ 'idempotency-key': key })
const total = async (of = tenant) => (await of.client.request<{ total: number }>('GET', '/leads')).json.total

const parts = (name = 'Front', bytes = PNG) => [
  { name: 'name', value: name },
  { name: 'file', value: bytes, fileName: 'a.png', type: 'image/png' },
]

describe('a request with the same key', () => {
  test('counts as the same if the order of its members and its white space differ', async () => {
    const headers = keyed()
    const first = await tenant.client.request('POST', '/leads', { json: LEAD, headers })
    const spaced = await tenant.client.request('POST', '/leads', {
      body: JSON.stringify(LEAD, null, 2),
      headers: { ...headers, 'content-type': 'application/json' },
    })
    expect([spaced.status, spaced.text]).toEqual([200, first.text])
    const turned = Object.fromEntries(Object.entries(LEAD).toReversed())
    const other = await tenant.client.request('POST', '/leads', { json: turned, headers })
    expect([other.status, other.text]).toEqual([200, first.text])
  })

  test('counts as the same if the key is quoted, as in the draft', async () => {
    const key = randomUUID()
    const bare = await tenant.client.request('POST', '/leads', { json: LEAD, headers: keyed(key) })
    const quoted = await tenant.client.request('POST', '/leads', { json: LEAD, headers: keyed(`"${key}"`) })
    expect([quoted.status, quoted.text]).toEqual([200, bare.text])
  })
})

describe('another request with a used key gets 422', () => {
  test('if its path differs', async () => {
    const headers = keyed()
    await tenant.send('POST', '/leads', { json: LEAD, headers })
    expect((await tenant.client.request('POST', '/manage/leads', { json: LEAD, headers })).status).toBe(422)
    const json = { notify: true, user_id: userId, date: '01/02/2027 10:00' }
    const [one, other] = [await tenant.createLead(), await tenant.createLead()]
    const more = keyed()
    const schedule = (reference: string) =>
      tenant.client.request('POST', `/leads/${reference}/callbacks`, { json, headers: more })
    expect((await schedule(one.reference)).status).toBe(200)
    expect((await schedule(other.reference)).status).toBe(422)
  })
})

/** Starts an upload and holds back its last bytes. The caller completes the upload with `body.end(rest)`. */
const startUpload = (path: string, headers: Record<string, string>) => {
  const bytes = multipartBody(parts(), 'b')
  const body = new PassThrough()
  body.write(bytes.subarray(0, -30))
  const answer = tenant.client.request('POST', path, {
    body,
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
  })
  return { body, answer, rest: bytes.subarray(-30) }
}

test('of two uploads with one key the first to end is stored, and the other one gets the same response', async () => {
  const { reference } = await tenant.createLead()
  const path = `/leads/${reference}/attachments`
  const headers = keyed()
  const slow = startUpload(path, headers)
  const first = await tenant.client.request('POST', path, { multipart: parts(), headers })
  expect(first.status).toBe(200)
  slow.body.end(slow.rest)
  const second = await slow.answer
  expect([second.status, second.text, second.headers['idempotency-replayed']]).toEqual([
    200,
    first.text,
    'true',
  ])
  expect((await tenant.client.request('GET', path)).json).toMatchObject({ data: [{ file_name: 'a.png' }] })
})

test('the key of an interrupted upload can be used again', async () => {
  const { reference } = await tenant.createLead()
  const path = `/leads/${reference}/attachments`
  const headers = keyed()
  const broken = startUpload(path, headers)
  const failed = expect(broken.answer).rejects.toThrow()
  broken.body.destroy(new Error('gone'))
  await failed
  expect((await tenant.client.request('POST', path, { multipart: parts(), headers })).status).toBe(200)
})

test.each([
  '',
  ' ',
  'x'.repeat(256),
  'a\tb',
  '"unclosed',
  Buffer.from('ünïcode').toString('latin1'),
])('the key %j gets 400', async (key) => {
  const before = await total()
  const answer = await tenant.client.request('POST', '/leads', { json: LEAD, headers: keyed(key) })
  expect(answer.status).toBe(400)
  expect(await total()).toBe(before)
})
