import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { eventually, type Receiver, type System, startReceiver, startSystem } from '@leadwire/test-kit'

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
  const services = Object.fromEntries(system.services.map(({ name, grpc }) => [name, { grpc }]))
  writeFileSync(
    join(data, 'dev.json'),
    JSON.stringify({ services, account: system.account, service_token: system.serviceToken }),
  )
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
const listen = (...args: string[]) => {
  const { LEADS_SERVICE_URL: _, WEBHOOK_SERVICE_URL: __, ...env } = process.env
  child = spawn(process.execPath, [MAIN, 'listen', ...args], {
    env: { ...env, LEADWIRE_DATA: data },
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
  const body = method === 'POST' ? { body: JSON.stringify(json) } : {}
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

it('verifies and prints each lead of the demo account, and takes its endpoint back', async () => {
  listen()
  const url = await listening()
  expect(await endpoints()).toMatchObject([{ url, enabled: true }])
  const reference = await createLead('Zoë’s 👩\u{200d}🔧 conservatory')
  const [block] = await printed(new RegExp(`\\S+Z  lead ${reference}[\\s\\S]*answered 200`))
  expect(block).toMatch(
    /^\d{4}-\d\d-\d\dT\S+Z {2}lead \S+ {2}Zoë’s 👩\u{200d}🔧 conservatory {2}open {2}verified: yes\n/u,
  )
  expect(block).toMatch(/\n {2}X-SERVICE-Signature: [0-9a-f]{40}\n/)
  expect(block).toContain(`\n  X-SERVICE-Account-Key: ${system.account.api_key}\n`)
  expect(block).toMatch(/\n {2}webhook-id: \S+\n {2}webhook-timestamp: \d+\n {2}webhook-signature: v1,\S+\n/)
  await eventually(async () => expect(await deliveryOf(reference)).toMatchObject({ status: 'delivered' }))

  expect(await interrupt()).toEqual([0, null])
  expect(output).toMatch(/endpoint \d+ removed\n$/)
  expect(await endpoints()).toEqual([])
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

it('listens for another account, and not for the demo one then', async () => {
  const other = await system.createAccount('Other')
  listen('--account', String(other.account.id))
  await listening()
  expect(await endpoints()).toEqual([])
  const mine = await createLead('Not for these eyes')
  const theirs = await createLead('Zoë’s gate', other.token)
  await printed(new RegExp(`lead ${theirs} .*verified: yes`))
  expect(output).not.toContain(mine)
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
    /lead r-1 {2}Jane\\u\{1b\}\[2J\\u\{a\}Doe\\u\{202e\} {2}open {2}verified: no \(X-SERVICE-Signature/,
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

it('says so when it cannot take its endpoint back', async () => {
  listen()
  await listening()
  await system.drain('webhook-service')
  try {
    expect(await interrupt()).toEqual([1, null])
    expect(output).toMatch(
      /endpoint \d+ is still there \(.*remove it: leadwire endpoints delete --account \d+ --id \d+\n$/,
    )
  } finally {
    await system.restart('webhook-service')
  }
})

it.each([
  [['--forward', 'ftp://example.com'], /http or https address/],
  [['--port', '70000'], /must be a port/],
])('refuses %j', async (args, why) => {
  listen(...args)
  expect((await ended)[0]).toBe(1)
  expect(output).toMatch(why)
})

it('says what to do when there is no stack', async () => {
  const { services } = system
  const grpc = (name: string) => services.find((service) => service.name === name)!.grpc!
  const env = {
    ...process.env,
    LEADWIRE_DATA: join(data, 'nowhere'),
    LEADS_SERVICE_URL: grpc('leads-service'),
    WEBHOOK_SERVICE_URL: grpc('webhook-service'),
    SERVICE_TOKEN: system.serviceToken,
  }
  child = spawn(process.execPath, [MAIN, 'listen'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  ended = once(child, 'close')
  let said = ''
  child.stderr.on('data', (text) => {
    said += text
  })
  expect((await ended)[0]).toBe(1)
  expect(said).toMatch(/No running stack was found.*or name one with --account\./)
})
