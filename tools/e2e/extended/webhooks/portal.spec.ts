import { eventually } from '@leadwire/test-kit'
import { Client as Database } from 'pg'
import { type Stage, startStage, type Tenant } from '../../support/stage'

type Session = { token: string; endpoint_id: number; expires_at: string }

let stage: Stage
let tenant: Tenant
let endpoint: number
beforeAll(async () => {
  stage = await startStage({ env: { LOG_LEVEL: 'trace' } })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
  endpoint = (await tenant.listen()).id
})

const create = async (options: object = {}) => {
  const path = `/manage/webhook-endpoints/${endpoint}/portal`
  const link = await tenant.send<{ url: string; expires_at: string }>('POST', path, options)
  return { ...link, secret: link.url.split('#portal=')[1]! }
}

const open = (token: string) =>
  tenant.client.request<{ data: Session }>('POST', '/portal-sessions', { token })

const tokens = () => tenant.send<Record<string, unknown>[]>('GET', '/manage/tokens')

const hours = (time: string) => (Date.parse(time) - Date.now()) / 3_600_000

test('a link to the console is valid for an hour, and opens a session of eight hours', async () => {
  const { url, expires_at, secret } = await create()
  expect(url).toBe(`${stage.system.baseUrl}/console#portal=${secret}`)
  expect(hours(expires_at)).toBeCloseTo(1, 1)
  const link = (await tokens()).at(-1)!
  const creator = { id: expect.any(Number), name: expect.any(String) }
  expect(link).toMatchObject({
    scopes: ['portal-link'],
    endpoint_id: endpoint,
    expires_at,
    created_by: creator,
  })

  const { status, json } = await open(secret)
  expect(status).toBe(200)
  const { token, ...session } = json.data
  expect(session).toEqual({ endpoint_id: endpoint, expires_at: expect.any(String) })
  expect(hours(session.expires_at)).toBeCloseTo(8, 1)
  expect((await tokens()).at(-1)).toMatchObject({
    id: link['id'],
    scopes: ['webhooks'],
    endpoint_id: endpoint,
  })
  const list = await tenant.client.request<{ data: object[] }>('GET', '/manage/webhook-endpoints', { token })
  expect(list.json.data).toMatchObject([{ id: endpoint }])
  expect(await tenant.send('GET', '/manage/audit')).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        action: 'token.opened',
        target: { type: 'token', id: link['id'] },
        changes: expect.objectContaining({ scopes: { from: ['portal-link'], to: ['webhooks'] } }),
      }),
    ]),
  )
  // The audit log attributes a change in a portal session to the portal link.
  await tenant.client.request('PATCH', `/manage/webhook-endpoints/${endpoint}`, {
    json: { enabled: false },
    token,
  })
  expect((await tenant.send<object[]>('GET', '/manage/audit'))[0]).toMatchObject({
    action: 'webhook_endpoint.updated',
    token: { id: link['id'], name: `Portal of endpoint ${endpoint}` },
  })

  await tenant.send('DELETE', `/manage/tokens/${link['id']}`)
  await eventually(async () =>
    expect((await tenant.client.request('GET', '/token', { token })).status).toBe(401),
  )
  const logs = stage.system.logs().map((line) => JSON.stringify(line))
  expect(logs.filter((line) => line.includes(secret) || line.includes(token))).toEqual([])
})

test('of concurrent requests that open a link, one succeeds', async () => {
  const { secret } = await create()
  const answers = await Promise.all(Array.from({ length: 8 }, () => open(secret)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 409)])
  await eventually(async () => expect((await open(secret)).status).toBe(401))
})

test('a revoked or expired link opens no session', async () => {
  const { secret } = await create()
  await tenant.send('DELETE', `/manage/tokens/${(await tokens()).at(-1)!['id']}`)
  expect((await open(secret)).status).toBe(401)

  const late = await create()
  const settings = stage.system.services.find(({ service }) => service === 'leads-service')!.env
  const database = new Database({ connectionString: settings['DATABASE_URL'] })
  await database.connect()
  const id = (await tokens()).at(-1)!['id']
  await database.query('UPDATE tokens SET expires_at = clock_timestamp() WHERE id = $1', [id])
  await database.end()
  expect((await open(late.secret)).status).toBe(401)
})

test('after the endpoint is deleted, its session finds nothing, and its links open no session', async () => {
  await tenant.createLead()
  const deliveries = async (token = tenant.token, query = '') => {
    const path = `/manage/deliveries${query}`
    return (await tenant.client.request<{ data: { id: number }[] }>('GET', path, { token })).json.data
  }
  await eventually(async () => expect(await deliveries()).toHaveLength(1))
  const [{ secret }, { secret: unopened }] = [await create(), await create()]
  const { token } = (await open(secret)).json.data
  const [delivery] = await deliveries(token)
  expect(await deliveries(token, `?endpoint_id=${endpoint + 1}`)).toEqual([])
  await tenant.send('DELETE', `/manage/webhook-endpoints/${endpoint}`)
  expect(await deliveries(token)).toEqual([])
  const { status } = await tenant.client.request('GET', `/manage/deliveries/${delivery!.id}`, { token })
  expect([status, (await open(unopened)).status]).toEqual([404, 409])
})

test('a token that expires before the session would cannot create a link', async () => {
  const json = {
    name: 'Short',
    scopes: ['webhooks'],
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  }
  const { token } = await tenant.send<{ token: string }>('POST', '/manage/tokens', { json })
  const path = `/manage/webhook-endpoints/${endpoint}/portal`
  expect((await tenant.client.request('POST', path, { token })).status).toBe(403)
})

test('a session cannot replay events that are older than its endpoint', async () => {
  await tenant.createLead()
  await eventually(async () => expect(await tenant.send('GET', '/manage/events')).toHaveLength(1))
  endpoint = (await tenant.listen()).id
  const { token } = (await open((await create()).secret)).json.data
  const path = `/manage/webhook-endpoints/${endpoint}/replay`
  const replay = (options: object) =>
    tenant.client.request('POST', path, { json: { state: 'all', dry_run: true }, ...options })
  expect((await replay({ token })).json).toMatchObject({ data: { matched: 0 } })
  expect((await replay({})).json).toMatchObject({ data: { matched: 1 } })
})

test('repeated requests with one Idempotency-Key create one link', async () => {
  const headers = { 'idempotency-key': 'once' }
  const { url } = await create({ headers })
  expect((await create({ headers })).url).toBe(url)
  expect(await tokens()).toHaveLength(2)
})

test('other tokens open no session, and an unknown endpoint gets no link', async () => {
  expect((await open(tenant.token)).status).toBe(403)
  const missing = await tenant.client.request('POST', '/manage/webhook-endpoints/999999999/portal')
  expect(missing.status).toBe(404)
})
