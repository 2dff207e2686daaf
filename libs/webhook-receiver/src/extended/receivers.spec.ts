import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { abortPost, expectTooLarge, post, postSlowly } from '../post.fixture'
import { packageFolder } from '../vectors.fixture'

const SECRET = 'a-secret-of-my-own'

const repository = (path: string) => join(packageFolder, '../..', path)

// A line to insert into the source of a receiver. The receiver's work then waits for this spec's server, and
// fails unless the status is 200.
const HOLD = `  if (lead?.hold && !(await fetch(lead.hold)).ok) throw new Error('not kept')\n`

let child: ChildProcessByStdio<null, Readable, null>
let url: string
let work: Server
let hold: string

beforeAll(async () => {
  work = createServer().listen(0, '127.0.0.1')
  await once(work, 'listening')
  hold = `http://127.0.0.1:${(work.address() as AddressInfo).port}/`
})
afterAll(() => {
  work.closeAllConnections()
  return new Promise((resolve) => work.close(resolve))
})

/** Runs a receiver as a customer would: in a separate process, with the built package. */
const start = async (path: string, secret = SECRET) => {
  const source = readFileSync(repository(path), 'utf8')
  const withHold = source.replace(/^async function keep\(lead\) \{\n/m, `$&${HOLD}`)
  expect(withHold).toContain(HOLD)
  child = spawn(process.execPath, ['--input-type=module', '--eval', withHold], {
    cwd: packageFolder,
    env: { ...process.env, PORT: '0', WEBHOOK_PORT: '0', WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    url = /^listening on (.+)$/.exec(line)?.[1] ?? ''
    if (url) return
  }
  throw new Error(`${path} ended before it listened; is the package built?`)
}

const stop = async () => {
  if (child.exitCode !== null) return
  const gone = once(child, 'exit')
  child.kill()
  await gone
}

const lead = (more = {}) =>
  Buffer.from(
    `${JSON.stringify({ data: { reference: 'r-1', name: 'Zoë', customer: { name: 'Zoë Doe' }, ...more } }, null, 1)}\n`,
  )

/** Signs a request without the package. */
const signed = (id: string, body: Buffer, secret = SECRET, ageSeconds = 0) => {
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
  const hmac = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body)
  return {
    'x-service-signature': createHmac('sha1', secret).update(body).digest('hex'),
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${hmac.digest('base64')}`,
  }
}

const send = async (id: string, body: Buffer, secret?: string) =>
  (await post(url, signed(id, body, secret), body)).status

/** Sends a lead and waits until its work has begun. The work lasts until the spec calls `end`. */
const sendHeld = async (id: string) => {
  const status = send(id, lead({ hold }))
  const [, response] = (await once(work, 'request')) as [IncomingMessage, ServerResponse]
  return { status, end: (outcome: 200 | 500) => void response.writeHead(outcome).end() }
}

describe.each([
  'libs/webhook-receiver/examples/express.mjs',
  'libs/webhook-receiver/examples/fastify.mjs',
  'docs/walk/receive.mjs',
])('%s', (path) => {
  beforeAll(() => start(path))
  afterAll(stop)
  afterEach(async () => {
    expect(await send(expect.getState().currentTestName!, lead())).toBe(200)
    expect(child.exitCode).toBeNull()
  })

  it('accepts a valid request', async () => {
    expect(await send('first', lead({ description: 'ä'.repeat(2_000_000) }))).toBe(200)
  })

  it('refuses an unsigned request', async () => {
    expect((await post(url, {}, lead())).status).toBe(401)
    expect(await send('second', lead(), 'another-secret')).toBe(401)
    expect(await send('second', Buffer.alloc(0), 'another-secret')).toBe(401)
  })

  it('refuses a recorded request that is replayed later', async () => {
    expect((await post(url, signed('old', lead(), SECRET, 400), lead())).status).toBe(401)
  })

  it('responds to a repeated request with 2xx only after the lead is kept', async () => {
    const first = await sendHeld('third')
    expect(await send('third', lead())).toBe(409)
    first.end(200)
    expect(await first.status).toBe(200)
    expect(await send('third', lead({ hold: 'http://never.invalid/' }))).toBe(200)
  })

  it('does not remember a lead that it could not keep', async () => {
    const first = await sendHeld('fourth')
    first.end(500)
    expect(await first.status).toBe(500)
    const second = await sendHeld('fourth')
    second.end(200)
    expect(await second.status).toBe(200)
  })

  it('requests another attempt of a webhook that it cannot read', async () => {
    expect(await send('fifth', Buffer.from('{"data":'))).not.toBe(200)
    expect(await send('fifth', lead())).toBe(200)
  })

  it('survives an aborted request', async () => {
    await abortPost(url, signed('sixth', lead()))
    expect(await send('sixth', lead())).toBe(200)
  })

  it('refuses an oversized request', () => expectTooLarge(url, (body) => signed('seventh', body)))

  it('serves other requests while a slow request arrives', async () => {
    const meanwhile = async () => expect(await send('ninth', lead())).toBe(200)
    const { status } = await postSlowly(url, signed('eighth', lead()), lead(), meanwhile)
    expect(status).toBe(200)
  })
})

it.each([
  ['whsec_ and base64', 'whsec_YS1zZWNyZXQtb2YtbXktb3du', 'a-secret-of-my-own'],
  ['whsec_ and no base64', 'whsec_my-own-secret-1', 'whsec_my-own-secret-1'],
  ['whsec_ and base64 without padding', 'whsec_YWJjZGVmZ2hpag', 'abcdefghij'],
  ['whsec_ and base64 with stray bits', 'whsec_YWJjZGVmZ2hpah', 'whsec_YWJjZGVmZ2hpah'],
])('docs/walk/receive.mjs accepts a secret of %s', async (_, secret, key) => {
  await start('docs/walk/receive.mjs', secret)
  try {
    expect(await send('tenth', lead(), key)).toBe(200)
  } finally {
    await stop()
  }
})

it('is the receiver in the guide', () => {
  const guide = readFileSync(repository('docs/guides/webhooks.md'), 'utf8')
  expect(guide).toContain(`\`\`\`js\n${readFileSync(repository('docs/walk/receive.mjs'), 'utf8')}\`\`\`\n`)
})
