import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { eventually } from '@leadwire/test-kit'
import { Client as Database } from 'pg'
import { type Answer, multipartBody } from '../client'
import { PNG } from '../files/samples.fixture'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let tenant: Tenant
let userId: number
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  userId = (await tenant.send('POST', '/manage/users', { json: { email: 'a@example.com', name: 'A' } })).id
})
afterAll(() => stage.stop())

const replayed = ({ headers }: Answer) => headers['idempotency-replayed']
const keyed = (key = randomUUID() as string) => ({ 'idempotency-key': key })
const total = async (of = tenant) => (await of.client.request<{ total: number }>('GET', '/leads')).json.total

const parts = (name = 'Front', bytes = PNG) => [
  { name: 'name', value: name },
  { name: 'file', value: bytes, fileName: 'a.png', type: 'image/png' },
]

/** Waits until a request under this key is being worked on: until then any other would be the first. */
const claimed = async (key: string) => {
  const database = new Database({ connectionString: stage.system.databases.leads.url })
  await database.connect()
  try {
    await eventually(async () => {
      const found = await database.query('select from idempotency_keys where key = $1 and body is null', [
        key,
      ])
      expect(found.rowCount).toBe(1)
    })
  } finally {
    await database.end()
  }
}

describe('the same request under the same key', () => {
  test.each([
    '/leads',
    '/manage/leads',
  ])('makes one lead at %s, and is answered byte for byte', async (path) => {
    const before = await total()
    const headers = keyed()
    const first = await tenant.client.request<{ data: Lead }>('POST', path, { json: LEAD, headers })
    expect(first.status).toBe(200)
    const { reference } = first.json.data
    await tenant.send('PATCH', `/leads/${reference}`, { json: { value: 77 } })
    const second = await tenant.client.request('POST', path, { json: LEAD, headers })
    expect([second.status, second.text]).toEqual([200, first.text])
    expect([replayed(first), replayed(second)]).toEqual([undefined, 'true'])
    expect(second.headers['content-type']).toBe(first.headers['content-type'])
    expect(await total()).toBe(before + 1)
  })

  test.each(['appointments', 'callbacks'])('makes one of %s', async (what) => {
    const { reference } = await tenant.createLead()
    const headers = keyed()
    const json = { notify: true, user_id: userId, date: '01/02/2027 10:00' }
    const send = () => tenant.client.request('POST', `/leads/${reference}/${what}`, { json, headers })
    const [first, second] = [await send(), await send()]
    expect([first.status, second.text]).toEqual([200, first.text])
    expect([replayed(first), replayed(second)]).toEqual([undefined, 'true'])
  })

  test('makes one attachment, whatever the boundary is', async () => {
    const { reference } = await tenant.createLead()
    const headers = keyed()
    const send = (boundary: string) =>
      tenant.client.request('POST', `/leads/${reference}/attachments`, {
        multipart: parts(),
        boundary,
        headers,
      })
    const [first, second] = [await send('one'), await send('quite-another')]
    expect(first.status).toBe(200)
    expect([second.status, second.text]).toEqual([200, first.text])
    expect([replayed(first), replayed(second)]).toEqual([undefined, 'true'])
  })

  test('is the same though its members stand otherwise or it is a form: what was parsed counts', async () => {
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

  test('may be quoted, as the draft has it', async () => {
    const key = randomUUID()
    const bare = await tenant.client.request('POST', '/leads', { json: LEAD, headers: keyed(key) })
    const quoted = await tenant.client.request('POST', '/leads', { json: LEAD, headers: keyed(`"${key}"`) })
    expect([quoted.status, quoted.text]).toEqual([200, bare.text])
  })

  test('two hundred at once make one lead and one webhook', async () => {
    const fresh = await stage.newTenant()
    const { receiver } = await fresh.listen()
    const headers = keyed()
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => fresh.client.request('POST', '/leads', { json: LEAD, headers })),
    )
    const served = answers.filter(({ status }) => status === 200)
    expect(served.length).toBeGreaterThan(0)
    expect(new Set(served.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([])
    expect(await total(fresh)).toBe(1)
    const last = await fresh.createLead({ name: 'The last' })
    await eventually(() =>
      expect(receiver.requests.some(({ body }) => body.includes(last.reference))).toBe(true),
    )
    expect(receiver.requests).toHaveLength(2)
  })
})

describe('another request under a used key is 422', () => {
  test('with another body', async () => {
    const headers = keyed()
    await tenant.send('POST', '/leads', { json: LEAD, headers })
    const before = await total()
    const answer = await tenant.client.request('POST', '/leads', {
      json: { ...LEAD, name: 'Other' },
      headers,
    })
    expect(answer.status).toBe(422)
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(await total()).toBe(before)
  })

  test('at another address', async () => {
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

  test('with another file or another name', async () => {
    const { reference } = await tenant.createLead()
    const headers = keyed()
    const send = (multipart: ReturnType<typeof parts>) =>
      tenant.client.request('POST', `/leads/${reference}/attachments`, { multipart, headers })
    expect((await send(parts())).status).toBe(200)
    expect((await send(parts('Other'))).status).toBe(422)
    expect((await send(parts('Front', Buffer.concat([PNG, Buffer.alloc(1)])))).status).toBe(422)
  })
})

test('while an upload is on its way, another under its key is 409; then it is replayed', async () => {
  const { reference } = await tenant.createLead()
  const path = `/leads/${reference}/attachments`
  const headers = keyed()
  const bytes = multipartBody(parts(), 'b')
  const stalled = new PassThrough()
  stalled.write(bytes.subarray(0, -30))
  const first = tenant.client.request('POST', path, {
    body: stalled,
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
  })
  const second = () => tenant.client.request('POST', path, { multipart: parts(), headers })
  try {
    await claimed(headers['idempotency-key'])
    const conflict = await second()
    expect([conflict.status, conflict.headers['retry-after']]).toEqual([409, '1'])
    expect(conflict.headers['content-type']).toMatch(/^application\/problem\+json/)
  } finally {
    stalled.end(bytes.subarray(-30))
  }
  const answer = await first
  expect(answer.status).toBe(200)
  expect(await second()).toMatchObject({ status: 200, text: answer.text })
})

test('an upload that was broken off leaves its key free', async () => {
  const { reference } = await tenant.createLead()
  const path = `/leads/${reference}/attachments`
  const headers = keyed()
  const stalled = new PassThrough()
  stalled.write(multipartBody(parts(), 'b').subarray(0, -30))
  const broken = tenant.client.request('POST', path, {
    body: stalled,
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
  })
  const failed = expect(broken).rejects.toThrow()
  const send = () => tenant.client.request('POST', path, { multipart: parts(), headers })
  await claimed(headers['idempotency-key'])
  expect((await send()).status).toBe(409)
  stalled.destroy(new Error('gone'))
  await failed
  await eventually(async () => expect((await send()).status).toBe(200))
})

test('a refusal is not saved: the key is free for the right request', async () => {
  const headers = keyed()
  const wrong = await tenant.client.request('POST', '/leads', { json: { ...LEAD, email: 'x' }, headers })
  expect(wrong.status).toBe(422)
  const right = await tenant.client.request('POST', '/leads', { json: LEAD, headers })
  expect(right.status).toBe(200)

  const { reference } = await tenant.createLead()
  const more = keyed()
  const attach = (value: string | Buffer) =>
    tenant.client.request('POST', `/leads/${reference}/attachments`, {
      multipart: [
        { name: 'name', value: 'a' },
        { name: 'file', value, fileName: 'a.png' },
      ],
      headers: more,
    })
  expect((await attach('no png')).status).toBe(422)
  expect((await attach(PNG)).status).toBe(200)
})

test.each([
  '',
  ' ',
  'x'.repeat(256),
  'a\tb',
  '"unclosed',
  Buffer.from('ünïcode').toString('latin1'),
])('the key %j is 400', async (key) => {
  const before = await total()
  const answer = await tenant.client.request('POST', '/leads', { json: LEAD, headers: keyed(key) })
  expect(answer.status).toBe(400)
  expect(await total()).toBe(before)
})
