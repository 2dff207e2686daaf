import { eventually } from '@leadwire/test-kit'
import { Client } from 'pg'
import { readEvents } from '../../support/events'
import { type Stage, startStage, type Tenant } from '../../support/stage'

let stage: Stage
beforeAll(async () => {
  stage = await startStage({ replicas: 2 })
})
afterAll(() => stage.stop())

const SERVICES = ['gateway', 'leads-service', 'files-service', 'webhook-service', 'webhook-service-2']

/** Reads the log from its first event. Retries failed requests until `count` events are read. */
const readTo = async (tenant: Tenant, count: number, wait: number): Promise<number[]> => {
  const sequences: number[] = []
  for (let after = ''; sequences.length < count; ) {
    const query = `?limit=20&wait=${wait}${after && `&after=${after}`}`
    const page = await eventually(() => readEvents(tenant, query), { timeoutMs: 60_000 })
    sequences.push(...page.data.map(({ sequence }) => sequence))
    after = page.next_cursor
  }
  return sequences
}

test('8 readers get each event of 64 writers once and in order while services are killed and the stream is lost', async () => {
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

test('hundreds of waiting readers use no database connection, and all get the event', async () => {
  const tenant = await stage.newTenant()
  const database = new Client({ connectionString: stage.system.databases.webhooks.url })
  await database.connect()
  const waiting = Array.from({ length: 250 }, () => readEvents(tenant, '?wait=30'))
  // Other requests succeed while the readers wait.
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

test('the scopes events:read and manage may read the log, leads may not; a revoked token stops waiting', async () => {
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
