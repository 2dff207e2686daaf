import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import {
  type Answer,
  eventually,
  type ReceivedRequest,
  type Receiver,
  type System,
  startReceiver,
  startSystem,
} from '@leadwire/test-kit'
import { verify, verifyStandard } from '@leadwire/webhook-receiver'
import { Client } from 'pg'

const MAIN = resolve(__dirname, '../../../leadwire/dist/main.js')

let system: System
let data: string
let receiver: Receiver
let child: ChildProcessByStdio<null, Readable, Readable> | undefined
let output: string
let ended: Promise<unknown[]>

beforeAll(async () => {
  system = await startSystem({ env: { WEBHOOK_RETRY_SCHEDULE: '1s,1s,1s,1s,1s' } })
  receiver = await startReceiver()
  // Writes dev.json, as `npm start` does for scripts.
  data = mkdtempSync(join(tmpdir(), 'leadwire-listen-'))
  writeFileSync(join(data, 'dev.json'), JSON.stringify({ base_url: system.baseUrl, token: system.token }))
})
afterAll(async () => {
  await receiver?.stop()
  await system?.stop()
  rmSync(data, { recursive: true, force: true })
})
afterEach(async () => {
  await interrupt()
  receiver.clear()
  receiver.answerWith({ status: 200 })
})

/** Starts the command. Its output is appended to `output`. */
const listen = (...args: string[]) => listenWith({}, ...args)
const listenWith = (settings: NodeJS.ProcessEnv, ...args: string[]) => {
  const { LEADWIRE_URL: _, LEADWIRE_TOKEN: __, ...env } = process.env
  child = spawn(process.execPath, [MAIN, 'listen', ...args], {
    env: { ...env, LEADWIRE_DATA: data, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  ended = once(child, 'close')
}
const printed = (pattern: RegExp) =>
  eventually(() => {
    const found = pattern.exec(output)
    if (!found) throw new Error(`${pattern} is not in: ${output}`)
    return found
  })
const listening = () => printed(/^listening from .*; press Ctrl-C to stop\n/m)
const interrupt = async () => {
  child!.kill('SIGINT')
  return ended
}

const call = async (method: string, path: string, { token = system.token, json = {} } = {}) => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = method === 'POST' || method === 'PATCH' ? { body: JSON.stringify(json) } : {}
  const response = await fetch(`${system.baseUrl}${path}`, { method, headers, ...body })
  const answer = await response.text()
  if (!response.ok) throw new Error(`${response.status}: ${answer}`)
  return answer && JSON.parse(answer)
}
const createLead = async (name: string, token?: string) => {
  const json = {
    name,
    first_name: 'Zoë',
    last_name: 'Doe',
    email: 'zoe@example.com',
    phone: '020 7946 0018',
    postcode: 'SW1A 1AA',
    referrer: 'Website',
    status: 'open',
  }
  return (await call('POST', '/leads', { json, ...(token !== undefined && { token }) })).data
    .reference as string
}
const endpoints = async () => (await call('GET', '/manage/webhook-endpoints')).data
const findDelivery = async (reference: string) =>
  (await call('GET', `/manage/deliveries?lead_reference=${reference}`)).data[0]

/** Parses the body in the block that the command prints for an event. */
const bodyIn = (block: string) => JSON.parse(block.slice(block.indexOf('\n  {\n')))
const readSequence = ({ headers }: ReceivedRequest) => Number(headers['webhook-sequence'])
const received = (count: number) => eventually(() => expect(receiver.requests).toHaveLength(count))

it('prints each event with its body, and creates no endpoint', async () => {
  listen()
  await listening()
  expect(output).toMatch(/^secret whsec_[A-Za-z0-9+/]{32}\n/m)
  const reference = await createLead('Zoë’s 👩\u{200d}🔧 conservatory')
  const [block] = await printed(new RegExp(`\\S+Z  lead\\.created  lead ${reference}[\\s\\S]*\n  }\n`))
  expect(block).toMatch(
    /^\d{4}-\d\d-\d\dT\S+Z {2}lead\.created {2}lead \S+ {2}Zoë’s 👩\u{200d}🔧 conservatory {2}open {2}verified: yes\n/u,
  )
  expect(block).toMatch(/\n {2}X-SERVICE-Signature: [0-9a-f]{40}\n/)
  expect(block).toMatch(/\n {2}webhook-id: \S+\n {2}webhook-timestamp: \d+\n {2}webhook-signature: v1,\S+\n/)
  const retrieved = await call('GET', `/leads/${reference}`)
  expect(bodyIn(block)).toMatchObject({ data: { reference, customer: retrieved.data.customer } })
  expect(await endpoints()).toEqual([])
  await interrupt()
})

it('forwards the same bytes, headers and signatures as a delivery', async () => {
  const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX'
  const json = { url: receiver.url, secret, events: ['lead.created', 'lead.updated'] }
  const { data: endpoint } = await call('POST', '/manage/webhook-endpoints', { json })
  listen('--secret', secret, '--forward', `${receiver.url}/forwarded`)
  await listening()
  expect(output).not.toContain('secret')
  const reference = await createLead('Zoë’s 👩\u{200d}🔧 roof')
  await call('PATCH', `/leads/${reference}`, { json: { value: 12 } })
  await received(4)
  await call('DELETE', `/manage/webhook-endpoints/${endpoint.id}`)
  const sorted = receiver.requests.toSorted((a, b) => readSequence(a) - readSequence(b))
  const perAttempt = /^(connection|webhook-timestamp|webhook-signature|traceparent)$/i
  const shown = ({ rawHeaders }: ReceivedRequest) =>
    rawHeaders
      .flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1]!]] : []))
      .filter(([name]) => !perAttempt.test(name!))
      .sort()
  for (const at of [0, 2]) {
    const [one, other] = [sorted[at]!, sorted[at + 1]!]
    expect(one.body).toEqual(other.body)
    expect(shown(one)).toEqual(shown(other))
    for (const { body, headers } of [one, other]) {
      expect(verifyStandard(body, headers, secret)).toMatchObject({ ok: true })
      expect(verify(body, headers, secret)).toMatchObject({ ok: true })
      expect(headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0\d$/)
    }
  }
  await printed(/lead\.updated {2}[\s\S]*forwarded to \S+: 200 in \d+ ms\n/)
})

it('shows the status and time of a failed forward, and continues with the next event', async () => {
  const answers: Answer[] = [{ status: 503 }, 'close', { status: 201 }]
  receiver.answerWith((_, index) => answers[index]!)
  listen('--to', receiver.url)
  await listening()
  for (const name of ['first', 'second', 'third']) await createLead(name)
  await printed(
    /: 503 in \d+ ms\n[\s\S]*could not be forwarded to \S+: socket hang up after \d+ ms\n[\s\S]*: 201 in \d+ ms\n/,
  )
  expect(receiver.requests).toHaveLength(3)
})

it('begins with the given sequence, and selects the given types', async () => {
  const { token } = await system.createAccount('Past')
  const logged = (count: number) =>
    eventually(async () => expect((await call('GET', '/manage/events', { token })).data).toHaveLength(count))
  const first = await createLead('first', token)
  await call('PATCH', `/leads/${first}`, { token, json: { value: 5 } })
  // Waits for the events of the first lead, because events of different leads may be stored in any order.
  await logged(2)
  const second = await createLead('second', token)
  await logged(3)
  listen('--token', token, '--from', '2', '--to', receiver.url)
  await received(2)
  expect(receiver.requests.map(readSequence)).toEqual([2, 3])
  await interrupt()
  receiver.clear()
  listen('--token', token, '--from', '1', '--events', 'lead.updated, attachment.added', '--to', receiver.url)
  await received(1)
  expect(readSequence(receiver.requests[0]!)).toBe(2)
  await call('PATCH', `/leads/${second}`, { token, json: { value: 6 } })
  await received(2)
  await interrupt()
  listen('--token', token, '--from', '4')
  await listening()
  await interrupt()
  listen('--token', token, '--from', '6')
  expect(await ended).toEqual([1, null])
  expect(output).toMatch(/^leadwire: Event 6 is not in the event log, and is not the next new event\.\n$/)
})

it('continues after kills of gateway and webhook-service, and gets every event once', async () => {
  listen('--to', receiver.url)
  await listening()
  const { data } = await call('GET', '/manage/events?limit=100')
  await createLead('before')
  for (const name of ['gateway', 'webhook-service']) {
    await system.kill(name)
    if (name === 'gateway') await printed(/^retrying every second: .*could not be reached/m)
    await system.restart(name)
    await createLead(`after ${name}`)
  }
  await received(3)
  expect(receiver.requests.map(readSequence)).toEqual([1, 2, 3].map((at) => data.length + at))
  expect(output).toContain('connected again\n')
})

it('continues with the oldest event if its cursor is no longer valid', async () => {
  const { account, token } = await system.createAccount('Gone')
  await createLead('first', token)
  await eventually(async () => expect((await call('GET', '/manage/events', { token })).data).toHaveLength(1))
  listen('--token', token, '--to', receiver.url)
  await listening()
  // Simulates the restore of a backup that is older than the event.
  const database = new Client({ connectionString: system.databases.webhooks.url })
  await database.connect()
  await database.query('UPDATE events SET id = gen_random_uuid() WHERE account_id = $1', [account.id])
  await database.end()
  await createLead('second', token)
  await received(2)
  expect(receiver.requests.map(readSequence)).toEqual([1, 2])
  expect(output).toMatch(/^continuing with the oldest event .*: The cursor is not in the event log\.$/m)
})

it('shows an erased event, and forwards nothing of it', async () => {
  const { token } = await system.createAccount('Erased')
  const reference = await createLead('erased', token)
  // Waits for the event, because events of different leads may be stored in any order.
  await eventually(async () => expect((await call('GET', '/manage/events', { token })).data).toHaveLength(1))
  await call('POST', `/manage/leads/${reference}/erase`, { token })
  await createLead('kept', token)
  await eventually(async () =>
    expect((await call('GET', '/manage/events', { token })).data[0]).toMatchObject({ erased: true }),
  )
  listen('--token', token, '--from', '1', '--events', 'lead.created', '--to', receiver.url)
  await printed(new RegExp(`lead\\.created {2}lead ${reference} {2}sequence 1 {2}erased, not forwarded\n`))
  await received(1)
  expect(JSON.parse(receiver.requests[0]!.body.toString()).data.name).toBe('kept')
})

it('needs only events:read, and then omits the header with the account key', async () => {
  const json = { name: 'Events', scopes: ['events:read'] }
  const { data } = await call('POST', '/manage/tokens', { json })
  const away = { LEADWIRE_URL: system.baseUrl, LEADWIRE_TOKEN: data.token, LEADWIRE_DATA: '/nowhere' }
  listenWith(away, '--to', receiver.url)
  await listening()
  await createLead('Zoë’s gate')
  await received(1)
  expect(receiver.requests[0]!.headers).not.toHaveProperty('x-service-account-key')
  await call('DELETE', `/manage/tokens/${data.id}`)
  expect(await ended).toEqual([1, null])
  expect(output).toMatch(/leadwire: The token was rejected: .*\n$/)
})

it('replays a delivery with new signatures, and its exit code reflects the response of the receiver', async () => {
  const json = { url: receiver.url, headers: { 'X-Gate': 'opens' } }
  const { data: endpoint } = await call('POST', '/manage/webhook-endpoints', { json })
  const reference = await createLead('Zoë’s 👩\u{200d}🔧 attic')
  await eventually(async () => expect(await findDelivery(reference)).toMatchObject({ status: 'delivered' }))
  const { id, event_id } = await findDelivery(reference)
  await call('DELETE', `/manage/webhook-endpoints/${endpoint.id}`)

  const secret = 'a-secret-of-my-own'
  const away = { LEADWIRE_URL: system.baseUrl, LEADWIRE_TOKEN: system.token, LEADWIRE_DATA: '/nowhere' }
  listenWith(away, '--replay', `${id}`, '--secret', secret, '--to', receiver.url)
  expect(await ended).toEqual([0, null])
  const [sent, replayed] = receiver.requests
  expect(replayed!.body).toEqual(sent!.body)
  expect(verifyStandard(replayed!.body, replayed!.headers, secret)).toMatchObject({ ok: true, id: event_id })
  expect(verify(replayed!.body, replayed!.headers, secret)).toMatchObject({ ok: true })
  const perAttempt = [
    'x-service-signature',
    'webhook-timestamp',
    'webhook-signature',
    'traceparent',
    'x-gate',
  ]
  const kept = ({ headers }: ReceivedRequest) =>
    Object.entries(headers).filter(([name]) => !perAttempt.includes(name))
  expect(kept(replayed!)).toEqual(
    expect.arrayContaining(kept(sent!).filter(([name]) => name !== 'connection')),
  )
  expect(output).toMatch(new RegExp(`lead ${reference} .*verified: yes\n[\\s\\S]*forwarded to \\S+: 200 in`))
  expect(await endpoints()).toEqual([])

  receiver.answerWith({ status: 503 })
  listen('--replay', `${id}`, '--to', receiver.url)
  expect(await ended).toEqual([1, null])
  expect(output).toMatch(/^secret whsec_\S+\n[\s\S]*: 503 in/)
  listen('--replay', '999999')
  expect(await ended).toEqual([1, null])
  expect(output).toMatch(/^leadwire: There is no such delivery\.\n$/)
})

it.each<[string[], RegExp]>([
  [['--forward', 'ftp://example.com'], /--to .*http or https address/],
  [['--to', 'localhost:8000'], /--to .*http or https address/],
  [['--replay', 'none'], /--replay .*positive integer/],
  [['--from', '0'], /--from .*positive integer/],
  [['--secret', 'short'], /--secret .*16/],
  [['--events', 'lead.changed'], /types: .*lead\.updated/],
  [['--events', ''], /--events .*types such as/],
  [['--token', 'wrong'], /leadwire: The token was rejected: The bearer token is not valid\.\n/],
  [['--url', 'leads.example.com'], /--url \(LEADWIRE_URL\) must be an http or https address, not leads/],
  [
    ['--url', 'https://leads.example.com'],
    /A token for https:\/\/leads\.example\.com is missing: give --token/,
  ],
])('refuses %j', async (args, why) => {
  listen(...args)
  expect((await ended)[0]).toBe(1)
  expect(output).toMatch(why)
  expect(output).not.toMatch(/^ +at /m)
})

it('says what to do if no stack runs or the address does not respond', async () => {
  listenWith({ LEADWIRE_DATA: join(data, 'nowhere') })
  expect((await ended)[0]).toBe(1)
  expect(output).toMatch(/No running stack was found.*or give --url and --token/)
  const unavailable = await startReceiver()
  await unavailable.stop()
  const url = `http://127.0.0.1:${unavailable.port}`
  listen('--url', url, '--token', 'any')
  expect((await ended)[0]).toBe(1)
  expect(output).toMatch(new RegExp(`^leadwire: ${url} could not be reached: connect ECONNREFUSED .*\n$`))
  listen('--url', receiver.url, '--token', 'any')
  expect((await ended)[0]).toBe(1)
  expect(output).toMatch(/responded with 200, but is not Leadwire\. Check the address/)
})
