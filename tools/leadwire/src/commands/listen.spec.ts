import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import {
  eventually,
  freePort,
  type ReceivedRequest,
  type Receiver,
  type System,
  startReceiver,
  startSystem,
} from '@leadwire/test-kit'
import { verify, verifyStandard } from '@leadwire/webhook-receiver'

const MAIN = resolve(__dirname, '../../dist/main.js')

let system: System
let data: string
let receiver: Receiver
let child: ChildProcessByStdio<null, Readable, Readable> | undefined
let output: string
let ended: Promise<unknown[]>

beforeAll(async () => {
  system = await startSystem({ env: { WEBHOOK_RETRY_SCHEDULE: '1s,1s,1s,1s,1s' } })
  receiver = await startReceiver()
  // What npm start leaves for scripts.
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

/** Runs the command; `output` grows with what it prints. */
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
/** Where it listens. */
const listening = async () => (await printed(/listening on (\S+) as endpoint \d+/))[1]!
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
const deliveryOf = async (reference: string) =>
  (await call('GET', `/manage/deliveries?lead_reference=${reference}`)).data[0]
const attemptsOf = async (reference: string): Promise<{ status: number; response: string }[]> => {
  const { id } = await deliveryOf(reference)
  return (await call('GET', `/manage/deliveries/${id}`)).data.attempts
}

/** What the block of an arrival shows of its body. */
const bodyIn = (block: string) => JSON.parse(block.slice(block.indexOf('\n  {\n')))

it('verifies and prints each lead of the demo account with its body, and takes its endpoint back', async () => {
  listen()
  const url = await listening()
  expect(output).toMatch(/^secret whsec_[A-Za-z0-9+/]{32}\n/m)
  expect(await endpoints()).toMatchObject([{ url, enabled: true, events: ['lead.created'] }])
  const reference = await createLead('Zoë’s 👩\u{200d}🔧 conservatory')
  const [block] = await printed(new RegExp(`\\S+Z  lead\\.created  lead ${reference}[\\s\\S]*\n  }\n`))
  expect(block).toMatch(
    /^\d{4}-\d\d-\d\dT\S+Z {2}lead\.created {2}lead \S+ {2}Zoë’s 👩\u{200d}🔧 conservatory {2}open {2}verified: yes\n/u,
  )
  expect(block).toMatch(/\n {2}X-SERVICE-Signature: [0-9a-f]{40}\n/)
  expect(block).toContain(`\n  X-SERVICE-Account-Key: ${system.account.api_key}\n`)
  expect(block).toMatch(/\n {2}webhook-id: \S+\n {2}webhook-timestamp: \d+\n {2}webhook-signature: v1,\S+\n/)
  const retrieved = await call('GET', `/leads/${reference}`)
  expect(bodyIn(block)).toMatchObject({ data: { reference, customer: retrieved.data.customer } })
  await eventually(async () => expect(await deliveryOf(reference)).toMatchObject({ status: 'delivered' }))

  expect(await interrupt()).toEqual([0, null])
  expect(output).toMatch(/endpoint \d+ removed\n$/)
  expect(await endpoints()).toEqual([])
})

it('gets the events that are asked for, signed with a secret that is given', async () => {
  const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX'
  listen('--events', 'lead.updated, lead.created', '--secret', secret, '--to', receiver.url)
  await listening()
  expect(output).not.toContain('secret')
  expect(await endpoints()).toMatchObject([{ events: ['lead.created', 'lead.updated'] }])
  const reference = await createLead('Zoë’s porch')
  await call('PATCH', `/leads/${reference}`, { json: { value: 5 } })
  const [block] = await printed(
    new RegExp(`lead\\.updated  lead ${reference} .*verified: yes\n[\\s\\S]*\n  }\n`),
  )
  expect(bodyIn(block).data.changes).toEqual([{ field: 'value', from: 0, to: 5 }])
  expect(receiver.requests).toHaveLength(2)
  for (const { body, headers } of receiver.requests)
    expect(verifyStandard(body, headers, secret)).toMatchObject({ ok: true })
})

it('replays what was sent for a delivery, signed anew, and ends as its receiver answered', async () => {
  const json = { url: receiver.url, headers: { 'X-Gate': 'opens' } }
  const { data: endpoint } = await call('POST', '/manage/webhook-endpoints', { json })
  const reference = await createLead('Zoë’s 👩\u{200d}🔧 attic')
  await eventually(async () => expect(await deliveryOf(reference)).toMatchObject({ status: 'delivered' }))
  const { id, event_id } = await deliveryOf(reference)
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
  expect(output).toMatch(
    new RegExp(`lead ${reference} .*verified: yes\n[\\s\\S]*forwarded to \\S+, answered 200`),
  )
  expect(await endpoints()).toEqual([])

  receiver.answerWith({ status: 503 })
  listen('--replay', `${id}`, '--to', receiver.url)
  expect(await ended).toEqual([1, null])
  expect(output).toMatch(/^secret whsec_\S+\n[\s\S]*answered 503 in/)
  listen('--replay', '999999')
  expect(await ended).toEqual([1, null])
  expect(output).toMatch(/^leadwire: There is no such delivery\.\n$/)
})

it('passes on the very bytes and headers, and answers as it was answered', async () => {
  receiver.answerWith((_, index) =>
    index === 0 ? { status: 503, body: 'not yet' } : { status: 201, body: 'kept' },
  )
  listen('--forward', receiver.url)
  const url = await listening()
  const reference = await createLead('Zoë’s roof')
  await eventually(async () => expect(await deliveryOf(reference)).toMatchObject({ status: 'delivered' }))
  expect(await attemptsOf(reference)).toMatchObject([
    { status: 503, response: 'not yet' },
    { status: 201, response: 'kept' },
  ])
  await printed(/forwarded to \S+, answered 503 in \d+ ms\n[\s\S]*seen before[\s\S]*answered 201 in \d+ ms\n/)

  const [first, second] = receiver.requests
  expect(second!.body).toEqual(first!.body)
  expect(JSON.parse(first!.body.toString()).data.name).toBe('Zoë’s roof')
  const { rawHeaders } = first!
  expect(rawHeaders).toEqual(expect.arrayContaining(['X-SERVICE-Signature', 'webhook-id', 'traceparent']))
  const shown = new RegExp(`X-SERVICE-Signature: ${first!.headers['x-service-signature']}\n`)
  expect(output).toMatch(shown)
  expect(first!.headers.host).toBe(new URL(receiver.url).host)

  const noText = Buffer.from([0xff, 0x00, 0x0d, 0x0a, 0x80])
  expect((await fetch(url, { method: 'POST', body: noText })).status).toBe(201)
  expect(receiver.requests.at(-1)!.body).toEqual(noText)
})

it('says when the forward is unavailable, and lets the delivery fail', async () => {
  const unavailable = await startReceiver()
  await unavailable.stop()
  listen('--forward', unavailable.url)
  await listening()
  const reference = await createLead('Zoë’s door')
  await printed(/could not be forwarded to \S+: .*ECONNREFUSED.*; answered 502\n/)
  await eventually(async () => expect((await attemptsOf(reference))[0]).toMatchObject({ status: 502 }))
})

it('listens for the account of a token, and not for the demo one then', async () => {
  const other = await system.createAccount('Other')
  listen('--token', other.token)
  await listening()
  expect(await endpoints()).toEqual([])
  const mine = await createLead('Not for these eyes')
  const theirs = await createLead('Zoë’s gate', other.token)
  await printed(new RegExp(`lead ${theirs} .*verified: yes`))
  expect(output).not.toContain(mine)
})

it('registers a public address that leads here, and removes what a killed listen left of it', async () => {
  const port = await freePort()
  // Leads here as a tunnel would.
  const publicUrl = `http://localhost:${port}/tunnel`
  const args = [
    '--url',
    system.baseUrl,
    '--token',
    system.token,
    '--public-url',
    publicUrl,
    '--port',
    `${port}`,
  ]
  listenWith({ LEADWIRE_DATA: '/nowhere' }, ...args)
  const left = (await printed(/as endpoint (\d+)/))[1]
  child!.kill('SIGKILL')
  await ended
  const named = { description: 'leadwire listen', url: 'https://tunnel.example.com/' }
  const { data: other } = await call('POST', '/manage/webhook-endpoints', { json: named })
  listenWith({ LEADWIRE_DATA: '/nowhere' }, ...args)
  await printed(new RegExp(`^endpoint ${left} removed: nothing listens on ${publicUrl}\n`))
  await printed(new RegExp(`\nendpoint ${other.id} stays: something may listen on ${named.url}\n`))
  await call('DELETE', `/manage/webhook-endpoints/${other.id}`)
  await listening()
  expect(await endpoints()).toMatchObject([{ url: publicUrl }])
  const reference = await createLead('Zoë’s tunnel')
  await printed(new RegExp(`lead ${reference} .*verified: yes`))
})

it('refuses what nobody signed, and prints it without its tricks', async () => {
  listen('--port', '0')
  const url = await listening()
  const body = JSON.stringify({
    data: { name: 'Jane\u001b[2J\nDoe\u202e', reference: 'r-1', status: 'open' },
  })
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'x-service-signature': '0'.repeat(40) },
  })
  expect([response.status, await response.text()]).toEqual([
    401,
    'X-SERVICE-Signature: bad_signature\nwebhook-signature: missing_header',
  ])
  await printed(
    /lead\.created {2}lead r-1 {2}Jane\\u\{1b\}\[2J\\u\{a\}Doe\\u\{202e\} {2}open {2}verified: no \(X-SERVICE-Signature/,
  )
  expect((await fetch(url)).status).toBe(405)
})

it('goes on after a request that was aborted, or is too large', async () => {
  listen()
  const url = await listening()
  const aborted = request(url, { method: 'POST', headers: { 'content-length': 1000 } })
  aborted.write('{', () => aborted.destroy())
  await once(aborted, 'error')
  expect((await fetch(url, { method: 'POST', body: Buffer.alloc(8 * 1024 * 1024 + 1) })).status).toBe(413)
  const reference = await createLead('Zoë’s stairs')
  await printed(new RegExp(`lead ${reference} .*verified: yes`))
})

it('removes its endpoint when it is asked to end, and on a second Ctrl-C too', async () => {
  listen()
  await listening()
  child!.kill('SIGTERM')
  child!.kill('SIGINT')
  expect(await ended).toEqual([0, null])
  expect(await endpoints()).toEqual([])
})

it('removes the endpoint of a listen that was killed, and none whose listener runs', async () => {
  const named = { description: 'leadwire listen', url: `http://127.0.0.1:${receiver.port}/` }
  const { data: running } = await call('POST', '/manage/webhook-endpoints', { json: named })
  listen()
  const left = (await printed(/as endpoint (\d+)/))[1]
  child!.kill('SIGKILL')
  await ended
  listen()
  await printed(new RegExp(`^endpoint ${running.id} stays: something listens on ${named.url}\n`))
  await printed(new RegExp(`\nendpoint ${left} removed: nothing listens on \\S+\n`))
  const url = await listening()
  expect(await endpoints()).toMatchObject([{ id: running.id }, { url }])
  await call('DELETE', `/manage/webhook-endpoints/${running.id}`)
})

it('says so when it cannot take its endpoint back, and the next one does', async () => {
  listen()
  await listening()
  await system.drain('webhook-service')
  try {
    expect(await interrupt()).toEqual([1, null])
  } finally {
    await system.restart('webhook-service')
  }
  const [, left] = await printed(
    /endpoint (\d+) is still there \(.*\); the next leadwire listen removes it\n$/,
  )
  listen()
  await printed(new RegExp(`^endpoint ${left} removed: nothing listens on `))
})

it('says so when its port is taken', async () => {
  listen('--port', `${receiver.port}`)
  expect((await ended)[0]).toBe(1)
  expect(output).toMatch(
    /^leadwire: Port \d+ can't be listened on: another program has it\. Choose another --port/,
  )
  expect(output).not.toMatch(/^ +at /m)
})

it.each<[string[], RegExp]>([
  [['--forward', 'ftp://example.com'], /--to .*http or https address/],
  [['--to', 'localhost:8000'], /--to .*http or https address/],
  [['--port', '70000'], /must be a port/],
  [['--replay', 'none'], /--replay .*positive integer/],
  [['--secret', 'short'], /--secret: .*16/],
  [['--events', 'lead.changed'], /--events: .*lead\.updated/],
  [['--token', 'wrong'], /leadwire: The token was refused: The bearer token is not valid\.\n/],
  [['--url', 'leads.example.com'], /--url \(LEADWIRE_URL\) must be an http or https address, not leads/],
  [['--url', 'https://leads.example.com'], /no token for https:\/\/leads\.example\.com: give --token/],
  [
    ['--url', 'https://a.example', '--token', 't'],
    /https:\/\/a\.example can't reach this machine: give --public-url/,
  ],
  [['--public-url', 'https://tunnel.example.com'], /Give --port too/],
])('refuses %j', async (args, why) => {
  listen(...args)
  expect((await ended)[0]).toBe(1)
  expect(output).toMatch(why)
  expect(output).not.toMatch(/^ +at /m)
  expect(await endpoints()).toEqual([])
})

it('says what to do when there is no stack, or when it does not answer', async () => {
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
  expect(output).toMatch(/answered 200, but not as Leadwire does\. Check the address/)
})
