import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import { Client as Database } from 'pg'
import { PNG } from '../files/samples.fixture'
import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const post = (path: string, json: unknown, key: string) =>
  tenant.client.request<{ data: { id: number } }>('POST', path, {
    json,
    headers: { 'idempotency-key': key },
  })

/** A closed endpoint with a delivery in it, and both ids. */
const endpointWithDelivery = async () => {
  const { id, receiver } = await tenant.listen()
  const delivery = await tenant.send<{ id: number }>('POST', `/manage/webhook-endpoints/${id}/test`)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const path = `/manage/deliveries/${delivery.id}`
  await eventually(async () => expect(await tenant.send('GET', path)).toMatchObject({ status: 'delivered' }))
  return { id, receiver, deliveryId: delivery.id }
}

const count = async (path: string) =>
  (await tenant.client.request<{ data: unknown[] }>('GET', path)).json.data.length

const expectOnce = async (path: string, json: unknown) => {
  const key = randomUUID()
  const first = await post(path, json, key)
  expect([first.status, first.text]).toEqual([200, expect.any(String)])
  const second = await post(path, json, key)
  expect([second.status, second.text]).toEqual([200, first.text])
  const replayed = [first, second].map(({ headers }) => headers['idempotency-replayed'])
  expect(replayed).toEqual([undefined, 'true'])
  return first.json.data
}

describe('sent again under its key, it is answered as it was and does nothing further:', () => {
  test('a user', async () => {
    const before = await count('/manage/users')
    await expectOnce('/manage/users', { email: `${randomUUID()}@example.com`, name: 'Ada' })
    expect(await count('/manage/users')).toBe(before + 1)
  })

  test('the address of a calendar', async () => {
    const { id } = (await expectOnce('/manage/users', {
      ...{ email: `${randomUUID()}@example.com`, name: 'Cal' },
    })) as unknown as { id: number }
    const { url } = (await expectOnce(`/manage/users/${id}/calendar`, {})) as never
    expect((await tenant.client.request('GET', url, { token: '' })).status).toBe(200)
  })

  test('a token, with its text', async () => {
    const { token } = (await expectOnce('/manage/tokens', { name: 'Site', scopes: ['leads'] })) as never
    expect((await tenant.client.request('GET', '/leads', { token })).status).toBe(200)
  })

  test('an endpoint, with its secret', async () => {
    const before = await count('/manage/webhook-endpoints')
    await expectOnce('/manage/webhook-endpoints', { url: 'http://127.0.0.1:9/' })
    expect(await count('/manage/webhook-endpoints')).toBe(before + 1)
  })

  test('the rotation of a secret', async () => {
    const { id } = await tenant.listen()
    await expectOnce(`/manage/webhook-endpoints/${id}/rotate-secret`, {})
  })

  test('a test of an endpoint', async () => {
    const { id, receiver } = await tenant.listen()
    await expectOnce(`/manage/webhook-endpoints/${id}/test`, {})
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    expect(await count(`/manage/deliveries?endpoint_id=${id}`)).toBe(1)
  })

  test('a recovery', async () => {
    const { id } = await tenant.listen()
    await expectOnce(`/manage/webhook-endpoints/${id}/recover`, { since: '2026-01-01T00:00:00Z' })
  })

  test('a replay', async () => {
    const { id } = await tenant.listen()
    await expectOnce(`/manage/webhook-endpoints/${id}/replay`, {})
  })

  test('one more attempt of a delivery', async () => {
    const { receiver, deliveryId } = await endpointWithDelivery()
    await expectOnce(`/manage/deliveries/${deliveryId}/retry`, {})
    await eventually(() => expect(receiver.requests).toHaveLength(2))
  })

  test('one more attempt of a notification', async () => {
    const user = await tenant.send('POST', '/manage/users', {
      json: { email: 'ada@example.com', name: 'Ada' },
    })
    const { reference } = await tenant.createLead()
    const json = { notify: true, user_id: user.id, date: '01/02/2027 10:00' }
    await tenant.send('POST', `/leads/${reference}/appointments`, { json })
    const notification = await eventually(async () => {
      const answer = await tenant.client.request<{ data: { id: number; status: string }[] }>(
        'GET',
        '/manage/notifications',
      )
      const [found] = answer.json.data
      expect(found).toMatchObject({ status: 'delivered' })
      return found!
    })
    await expectOnce(`/manage/notifications/${notification.id}/retry`, {})
  })

  test('an image', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const send = (name: string) =>
      tenant.client.request('POST', '/manage/images', {
        multipart: [
          { name: 'name', value: name },
          { name: 'file', value: PNG, fileName: 'a.png', type: 'image/png' },
        ],
        headers,
      })
    const [first, second] = [await send('Front'), await send('Front')]
    expect([first.status, second.text]).toEqual([200, first.text])
    expect(second.headers['idempotency-replayed']).toBe('true')
    expect((await send('Back')).status).toBe(422)
  })
})

test.each([
  ['/manage/users', { email: 'x@example.com', name: 'X' }, { email: 'y@example.com', name: 'Y' }],
  ['/manage/webhook-endpoints', { url: 'http://127.0.0.1:9/a' }, { url: 'http://127.0.0.1:9/b' }],
])('another request under a used key is 422: %s', async (path, one, other) => {
  const key = randomUUID()
  expect((await post(path, one, key)).status).toBe(200)
  const refused = await post(path, other, key)
  expect([refused.status, refused.json]).toMatchObject([
    422,
    { errors: { idempotency_key: [expect.any(String)] } },
  ])
})

test.each([
  ['has expired', 0],
  ['expires soon', 14 * 86_400_000],
])('a token that %s since is answered as it was', async (_what, later) => {
  const expires_at = new Date(Date.now() + later + 2000).toISOString()
  const create = () =>
    post('/manage/tokens', { name: 'Short', scopes: ['leads'], expires_at }, `short ${later}`)
  const first = await create()
  await pause(2100)
  const again = await create()
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
})

test('a refusal is not saved', async () => {
  const key = randomUUID()
  expect((await post('/manage/webhook-endpoints', { url: 'ftp://example.com' }, key)).status).toBe(422)
  expect((await post('/manage/webhook-endpoints', { url: 'http://127.0.0.1:9/' }, key)).status).toBe(200)
})

test('an e-mail address that is taken is named, as without a key', async () => {
  const user = { email: `${randomUUID()}@example.com`, name: 'Ada' }
  await post('/manage/users', user, randomUUID())
  const { status, json } = await post('/manage/users', user, randomUUID())
  expect([status, json]).toMatchObject([422, { errors: { email: ['The email has already been taken.'] } }])
})

test('fifty at once make one, and are answered alike or told to wait', async () => {
  const before = await count('/manage/webhook-endpoints')
  const key = randomUUID()
  const fifty = () =>
    Promise.all(
      Array.from({ length: 50 }, () =>
        post('/manage/webhook-endpoints', { url: 'http://127.0.0.1:9/' }, key),
      ),
    )
  const answers = await fifty()
  const statuses = new Set(answers.map(({ status }) => status))
  expect([...statuses].filter((status) => status !== 200 && status !== 409)).toEqual([])
  for (const { status, headers } of answers) if (status === 409) expect(headers['retry-after']).toBe('1')
  expect(new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1)
  // Nobody waits for a response that is there.
  for (const { status } of await fifty()) expect(status).toBe(200)
  expect(await count('/manage/webhook-endpoints')).toBe(before + 1)
})

test('what is saved of a token and of a secret is encrypted', async () => {
  const { token } = (await expectOnce('/manage/tokens', { name: 'Secret', scopes: ['leads'] })) as never as {
    token: string
  }
  const { secret } = (await expectOnce('/manage/webhook-endpoints', {
    url: 'http://127.0.0.1:9/',
  })) as never as { secret: string }
  for (const [of, text] of [
    ['leads', token],
    ['webhooks', secret],
  ] as const) {
    const database = new Database({ connectionString: stage.system.databases[of].url })
    await database.connect()
    const { rows } = await database.query<{ body: Buffer }>('SELECT body FROM idempotency_keys')
    await database.end()
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.filter(({ body }) => body.includes(text))).toEqual([])
  }
})
