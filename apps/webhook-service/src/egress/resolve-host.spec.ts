import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { attempter, closeAll } from '../delivery/attempt/attempt.fixture'
import { type QueryType, type Reply, startNameServer } from './name-server.fixture'
import { createResolver } from './resolve-host'

let receiver: Receiver
let folder: string
let nameServer: Awaited<ReturnType<typeof startNameServer>> | undefined
beforeAll(async () => {
  receiver = await startReceiver()
  folder = await mkdtemp(join(tmpdir(), 'leadwire-hosts-'))
})
afterEach(async () => {
  await nameServer?.stop()
  nameServer = undefined
})
afterAll(async () => {
  await closeAll()
  await receiver.stop()
  await rm(folder, { recursive: true })
})

const start = async (replyTo: (name: string, type: QueryType) => Reply | Promise<Reply>, ttl?: number) => {
  nameServer = await startNameServer(replyTo, ttl)
  return nameServer
}

const writeHosts = async (text: string) => {
  const path = join(folder, 'hosts')
  await writeFile(path, text)
  return path
}

const buildUrl = (host: string) => `http://${host}:${receiver.port}/`

const MAPPED = '::ffff:127.0.0.1'

test.each([
  ['AAAA', (type: QueryType): Reply => (type === 'A' ? ['127.0.0.1'] : 'dropped')],
  ['A', (type: QueryType): Reply => (type === 'AAAA' ? [MAPPED] : 'dropped')],
])('an attempt does not wait for a name server that drops %s queries', async (_, replyTo) => {
  const { servers } = await start((_name, type) => replyTo(type))
  const attempt = attempter({ servers, allow: ['127.0.0.0/8', MAPPED] })
  expect(await attempt(buildUrl('crm.example'))).toMatchObject({ status: 200, error: null })
})

test('addresses of the other family are tried when they arrive', async () => {
  let send: (reply: Reply) => void = () => undefined
  const mapped = new Promise<Reply>((resolve) => {
    send = resolve
  })
  const { servers } = await start((_, type) => (type === 'A' ? ['127.0.0.2'] : mapped))
  const resolve = createResolver({ limitMs: 30_000, servers })
  const { known, later } = await resolve('crm.example')
  expect(known).toEqual(['127.0.0.2'])
  send([MAPPED])
  expect(await later).toEqual([MAPPED])
  // No server listens at the first address, so the attempt must use the address that arrives later.
  const attempt = attempter({ servers, allow: ['127.0.0.0/8', MAPPED] })
  expect(await attempt(buildUrl('crm.example'))).toMatchObject({ status: 200, error: null })
})

test('the guard checks addresses of the other family', async () => {
  const { servers } = await start((_, type) => (type === 'A' ? ['127.0.0.2'] : [MAPPED]))
  const attempt = attempter({ servers, allow: ['127.0.0.2'] })
  expect(await attempt(buildUrl('crm.example'))).toMatchObject({ error: 'refused' })
})

test.each([
  ['a pinned name', 'crm.example', '127.0.0.1 crm.example'],
  ['a name with an alias, a comment and capitals', 'crm.example', '127.0.0.1\tother CRM.example # ours'],
  ['localhost', 'localhost', ''],
  ['a name below localhost', 'crm.localhost', ''],
])('no name server gets a query for %s', async (_, host, hosts) => {
  const { servers, queries } = await start(() => 'dropped')
  const attempt = attempter({ servers, hostsFile: await writeHosts(`# hosts\n${hosts}\n`) })
  expect(await attempt(buildUrl(host))).toMatchObject({ status: 200, error: null })
  expect(queries).toEqual([])
})

test('many connections to one name send one query of each type', async () => {
  // Both types have records, because the resolver does not cache that a type has no record.
  const { servers, queries } = await start((_, type) => (type === 'A' ? ['127.0.0.1'] : [MAPPED]))
  const resolve = createResolver({ limitMs: 30_000, servers })
  const resolveAll = async () => {
    const { known, later } = await resolve('crm.example')
    return [...known, ...(await later)].toSorted()
  }
  const found = await Promise.all(Array.from({ length: 100 }, resolveAll))
  expect(found).toEqual(Array(100).fill(['127.0.0.1', MAPPED]))
  expect(queries.toSorted()).toEqual(['A crm.example', 'AAAA crm.example'])
})

test('records without a time to live are queried again', async () => {
  const replies: Reply[] = [['127.0.0.1'], ['127.0.0.2']]
  const { servers } = await start((_, type) => (type === 'A' ? replies.shift()! : []), 0)
  const resolve = createResolver({ limitMs: 30_000, servers })
  expect((await resolve('crm.example')).known).toEqual(['127.0.0.1'])
  // The resolver keeps the records for a millisecond.
  await eventually(async () => expect((await resolve('crm.example')).known).toEqual(['127.0.0.2']))
})

// Resolution ends when a fifth of this time (600 ms) is left. This is enough for a busy machine to fail the
// attempt with `dns` before the timeout.
const TIMEOUT_MS = 3000

test('an attempt fails with dns if name servers ignore its host name', async () => {
  const { servers } = await start((name) => (name === 'silent.example' ? 'dropped' : []))
  const attempt = attempter({ servers, timeoutMs: TIMEOUT_MS })
  expect(await attempt('http://silent.example/')).toMatchObject({ status: null, error: 'dns' })
})

test.each<Reply>([
  'NXDOMAIN',
  'SERVFAIL',
  [],
])('an attempt fails with dns if name servers reply %j', async (reply) => {
  const { servers } = await start(() => reply)
  const attempt = attempter({ servers })
  expect(await attempt('http://gone.invalid/')).toMatchObject({ status: null, error: 'dns' })
})

test('an attempt does not count if name servers ignore every name', async () => {
  const { servers } = await start(() => 'dropped')
  const attempt = attempter({ servers, timeoutMs: TIMEOUT_MS })
  expect(await attempt('http://crm.example/')).toMatchObject({ status: null, error: 'internal' })
})

test('an attempt does not count if the name server is not running', async () => {
  const { servers, stop } = await startNameServer(() => [])
  await stop()
  expect(await attempter({ servers })('http://crm.example/')).toMatchObject({
    status: null,
    error: 'internal',
  })
})
