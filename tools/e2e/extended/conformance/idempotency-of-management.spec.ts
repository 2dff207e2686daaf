import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import { Client as Database } from 'pg'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

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

/**
 * Creates an endpoint, and waits until a test webhook is delivered to it. Returns the ids of the endpoint and
 * of the delivery.
 */
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

describe('a repetition with the same key gets the same response and does nothing:', () => {
  test('a test of an endpoint', async () => {
    const { id, receiver } = await tenant.listen()
    await expectOnce(`/manage/webhook-endpoints/${id}/test`, {})
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    expect(await count(`/manage/deliveries?endpoint_id=${id}`)).toBe(1)
  })

  test('a retry of a delivery', async () => {
    const { receiver, deliveryId } = await endpointWithDelivery()
    await expectOnce(`/manage/deliveries/${deliveryId}/retry`, {})
    await eventually(() => expect(receiver.requests).toHaveLength(2))
  })
})

test.each([
  ['/manage/users', { email: 'x@example.com', name: 'X' }, { email: 'y@example.com', name: 'Y' }],
  ['/manage/webhook-endpoints', { url: 'http://127.0.0.1:9/a' }, { url: 'http://127.0.0.1:9/b' }],
])('another request with a used key gets 422: %s', async (path, one, other) => {
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
])('a repetition gets the same response although the token %s by then', async (_what, later) => {
  // Retries, because on a busy machine the token may have expired before it is created.
  const { create, first } = await eventually(async () => {
    const expires_at = new Date(Date.now() + later + 2000).toISOString()
    const json = { name: 'Short', scopes: ['leads'], expires_at }
    const create = () => post('/manage/tokens', json, `short ${expires_at}`)
    const first = await create()
    expect(first.status).toBe(200)
    return { create, first }
  })
  await pause(2100)
  const again = await create()
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
})

test('a taken e-mail address gets the same error as without a key', async () => {
  const user = { email: `${randomUUID()}@example.com`, name: 'Ada' }
  await post('/manage/users', user, randomUUID())
  const { status, json } = await post('/manage/users', user, randomUUID())
  expect([status, json]).toMatchObject([422, { errors: { email: ['The email has already been taken.'] } }])
})

test('fifty concurrent requests with one key create one endpoint, and get the same response or 409', async () => {
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
  // Once the response is stored, no request gets 409.
  for (const { status } of await fifty()) expect(status).toBe(200)
  expect(await count('/manage/webhook-endpoints')).toBe(before + 1)
})

test('stored responses with tokens and secrets are encrypted', async () => {
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
