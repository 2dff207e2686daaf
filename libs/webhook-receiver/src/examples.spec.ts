import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { packageFolder } from './vectors.fixture'

const SECRET = 'a-secret-of-my-own'

let child: ChildProcessByStdio<null, Readable, null>
let url: string

/** Runs an example as a customer would: a process of its own, on the package as it was built. */
const start = async (name: string) => {
  const env = { ...process.env, PORT: '0', WEBHOOK_SECRET: SECRET }
  child = spawn(process.execPath, [join(packageFolder, 'examples', name)], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    url = /^listening on (.+)$/.exec(line)?.[1] ?? ''
    if (url) return
  }
  throw new Error(`${name} ended before it listened; is the package built?`)
}

const lead = (more = {}) =>
  Buffer.from(`${JSON.stringify({ data: { reference: 'r-1', name: 'Zoë', ...more } }, null, 1)}\n`)

/** Signs here, not with the package. */
const send = async (id: string, body: Buffer, { secret = SECRET, ageSeconds = 0 } = {}) => {
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
  const hmac = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body)
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${hmac.digest('base64')}`,
  }
  const response = await fetch(url, { method: 'POST', body, headers })
  return [response.status, await response.text()]
}

describe.each(['express.mjs', 'fastify.mjs'])('%s', (name) => {
  beforeAll(() => start(name))
  afterAll(async () => {
    const gone = once(child, 'exit')
    child.kill()
    await gone
  })

  it('takes what verifies, over the very bytes, once', async () => {
    expect(await send('first', lead())).toEqual([204, ''])
    expect(await send('first', lead())).toEqual([200, 'known already'])
  })

  it('refuses what does not', async () => {
    expect(await send('second', lead(), { secret: 'another-secret' })).toEqual([401, 'bad_signature'])
    expect(await send('second', lead(), { ageSeconds: 400 })).toEqual([401, 'too_old'])
    const unsigned = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
    expect((await fetch(url, unsigned)).status).toBe(401)
    expect(await send('second', Buffer.alloc(0), { secret: 'another-secret' })).toEqual([
      401,
      'bad_signature',
    ])
  })

  it('wants again what it could not keep', async () => {
    expect(await send('third', lead({ reference: null }))).toEqual([500, 'not kept'])
    expect(await send('third', lead())).toEqual([204, ''])
  })

  it('takes large bodies', async () => {
    expect(await send('fourth', lead({ description: 'ä'.repeat(2_000_000) }))).toEqual([204, ''])
  })
})
