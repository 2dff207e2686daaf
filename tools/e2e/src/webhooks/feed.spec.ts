import { eventually } from '@leadwire/test-kit'
import { Client } from 'pg'
import { type Stage, startStage, type Tenant } from '../stage.fixture'

let stage: Stage
beforeAll(async () => {
  stage = await startStage({ replicas: 2 })
})
afterAll(() => stage.stop())

const SERVICES = ['gateway', 'leads-service', 'files-service', 'webhook-service', 'webhook-service-2']

type Page = {
  data: {
    id: string
    sequence: number
    type: string
    lead_reference: string
    erased: boolean
    body: unknown
  }[]
  next_cursor: string
}

const pageOf = async ({ client }: Tenant, query = '') => {
  const answer = await client.request<Page>('GET', `/manage/events${query}`)
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json
}

const storedEvents = (tenant: Tenant, count: number) =>
  eventually(async () => expect((await pageOf(tenant)).data).toHaveLength(count))

/** Reads from the first event on, through whatever fails, until `count` events were read. */
const readTo = async (tenant: Tenant, count: number, wait: number): Promise<number[]> => {
  const sequences: number[] = []
  for (let after = ''; sequences.length < count; ) {
    const query = `?limit=20&wait=${wait}${after && `&after=${after}`}`
    const page = await eventually(() => pageOf(tenant, query), { timeoutMs: 60_000 })
    sequences.push(...page.data.map(({ sequence }) => sequence))
    after = page.next_cursor
  }
  return sequences
}

test('8 readers see each of the events of 64 writers once, in order, while every service is killed and the stream is lost', async () => {
  const tenant = await stage.newTenant()
  const writers = 64
  let killing = true
  const kills = (async () => {
    for (let round = 0; killing; round += 1) {
      for (const name of SERVICES) {
        await stage.system.kill(name)
        await stage.system.restart(name)
      }
      if (round % 2 === 0) {
        await stage.system.nats.kill()
        await stage.system.nats.restart({ empty: true })
      }
    }
  })()
  const write = async () => {
    for (let written = 0; written < 4; written += 1)
      await eventually(() => tenant.createLead(), { timeoutMs: 60_000 })
  }
  const count = writers * 4
  const readers = Array.from({ length: 8 }, (_, at) => readTo(tenant, count, at % 2 ? 30 : 0))
  await Promise.all(Array.from({ length: writers }, write))
  killing = false
  await kills
  const expected = Array.from({ length: count }, (_, at) => at + 1)
  for (const sequences of await Promise.all(readers)) expect(sequences.slice(0, count)).toEqual(expected)
}, 240_000)

test('an event of the log is what the webhook carried', async () => {
  const tenant = await stage.newTenant()
  const { receiver } = await tenant.listen()
  const lead = await tenant.createLead()
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const { data } = await pageOf(tenant)
  const [{ headers, body }] = receiver.requests as [(typeof receiver.requests)[0]]
  expect(data).toEqual([
    {
      id: headers['webhook-id'],
      sequence: 1,
      type: 'lead.created',
      lead_reference: lead.reference,
      lead_version: 1,
      test: false,
      created_at: expect.stringMatching(/Z$/),
      erased: false,
      body: JSON.parse(body.toString()),
    },
  ])
  await tenant.send('POST', `/manage/leads/${lead.reference}/erase`)
  await eventually(async () =>
    expect((await pageOf(tenant)).data[0]).toMatchObject({ sequence: 1, erased: true, body: null }),
  )
})

test('a waiting reader has the event when it comes, of the types that it asks for', async () => {
  const tenant = await stage.newTenant()
  const { next_cursor: after } = await pageOf(tenant, '?after=now')
  const waiting = pageOf(tenant, `?after=${after}&wait=30&types=lead.updated`)
  const { reference } = await tenant.createLead()
  await tenant.send('PATCH', `/leads/${reference}`, { json: { status: 'sold' } })
  expect((await waiting).data.map(({ sequence, type }) => [sequence, type])).toEqual([[2, 'lead.updated']])
})

test('hundreds that wait hold no connection of a database, and all have the event', async () => {
  const tenant = await stage.newTenant()
  const database = new Client({ connectionString: stage.system.databases.webhooks.url })
  await database.connect()
  const waiting = Array.from({ length: 250 }, () => pageOf(tenant, '?wait=30'))
  // Other requests are answered while they wait, and only then is there an event.
  for (let round = 0; round < 20; round += 1) await tenant.send('GET', '/manage/webhook-endpoints')
  await tenant.createLead()
  const { rows } = await database.query(
    "SELECT count(*)::int AS active FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'",
  )
  await database.end()
  expect(rows[0].active).toBeLessThan(10)
  for (const page of await Promise.all(waiting))
    expect(page.data.map(({ sequence }) => sequence)).toEqual([1])
})

test('scopes: events:read and manage may read it, leads may not; a revoked token stops waiting', async () => {
  const tenant = await stage.newTenant()
  const { id, token } = await tenant.newToken({ scopes: ['events:read'] })
  const ask = (query: string, token: string) =>
    tenant.client.request('GET', `/manage/events${query}`, { token })
  expect((await ask('', token)).status).toBe(200)
  expect((await tenant.client.request('GET', '/manage/deliveries', { token })).status).toBe(403)
  expect((await ask('', (await tenant.newToken({ scopes: ['leads'] })).token)).status).toBe(403)
  const waiting = ask('?wait=30', token)
  await tenant.send('DELETE', `/manage/tokens/${id}`)
  expect((await waiting).status).toBe(401)
})

test.each([
  ['?limit=0', 'limit'],
  ['?limit=101', 'limit'],
  ['?wait=31', 'wait'],
  ['?types=lead.eaten', 'types'],
  ['?after=nonsense', 'after'],
  ['?before=1', 'before'],
  ['?from_sequence=0', 'from_sequence'],
  ['?from_sequence=1&after=now', 'from_sequence'],
])('%s is refused', async (query, field) => {
  const tenant = await stage.newTenant()
  const { status, json } = await tenant.client.request('GET', `/manage/events${query}`)
  expect(status).toBe(422)
  expect(Object.keys((json as { errors: object }).errors)).toEqual([field])
})

test('a reader that knows a sequence alone begins with it', async () => {
  const tenant = await stage.newTenant()
  const { reference } = await tenant.createLead()
  await tenant.send('PATCH', `/leads/${reference}`, { json: { status: 'sold' } })
  await storedEvents(tenant, 2)
  const from = async (sequence: number, more = '') =>
    (await pageOf(tenant, `?from_sequence=${sequence}${more}`)).data.map((event) => event.sequence)
  expect([await from(1), await from(2), await from(3)]).toEqual([[1, 2], [2], []])
  const waiting = from(3, '&wait=30')
  await tenant.send('PATCH', `/leads/${reference}`, { json: { status: 'lost' } })
  expect(await waiting).toEqual([3])
  const { status, json } = await tenant.client.request('GET', '/manage/events?from_sequence=9')
  expect(status).toBe(410)
  expect(json).toMatchObject({
    detail: 'There is no event 9 in the log, and it is not the next.',
    oldest_cursor: expect.any(String),
  })
})

test('a cursor of another log is gone, and the answer says where to begin', async () => {
  const [tenant, other] = [await stage.newTenant(), await stage.newTenant()]
  await Promise.all([tenant.createLead(), other.createLead()])
  await storedEvents(other, 1)
  await storedEvents(tenant, 1)
  const { next_cursor: cursor } = await pageOf(other)
  const { status, json } = await tenant.client.request<{ oldest_cursor: string; type: string }>(
    'GET',
    `/manage/events?after=${cursor}`,
  )
  expect([status, json.type]).toEqual([410, '/problems#gone'])
  expect((await pageOf(tenant, `?after=${json.oldest_cursor}`)).data).toHaveLength(1)
})
