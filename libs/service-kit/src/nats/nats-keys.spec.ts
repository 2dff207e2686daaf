import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, natsCredentials, natsNkey, natsUrl, readConfig } from '@leadwire/settings'
import { eventually, freePort } from '@leadwire/test-kit'
import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
} from '@nats-io/jwt'
import { createLifecycle, type Lifecycle } from '../process/lifecycle'
import { createLogger } from '../process/logger'
import { connectNats } from './connect-nats'

const logger = createLogger({ service: 'spec', level: 'silent' })
const settings = (env: Record<string, string>) =>
  readConfig(env, { NATS_URL: natsUrl(env), NATS_CREDENTIALS: natsCredentials(), NATS_NKEY: natsNkey() })

const decodeText = (bytes: Uint8Array) => Buffer.from(bytes).toString()

let folder: string
let lifecycle: Lifecycle
let port: number
let server: ChildProcess | undefined
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadwire-nats-keys-'))
  lifecycle = createLifecycle(logger)
  port = await freePort()
})
afterEach(async () => {
  await lifecycle.stop()
  await stopServer()
  await rm(folder, { recursive: true })
})

const stopServer = async () => {
  const running = server
  server = undefined
  if (!running) return
  const exited = once(running, 'exit')
  running.kill()
  await exited
}

/** Stops the previous nats-server, and starts one with the given authorization on the same port. */
const serve = async (authorization: string) => {
  await stopServer()
  const config = join(folder, 'nats-server.conf')
  await writeFile(config, `listen: "127.0.0.1:${port}"\n${authorization}`)
  server = spawn(process.env['LEADWIRE_TEST_NATS_SERVER']!, ['--config', config])
  let log = ''
  server.stderr!.on('data', (chunk) => {
    log += chunk
  })
  await eventually(() => expect(log).toContain('Server is ready'))
}

/** Replaces the key file atomically. Otherwise the client might read an empty file. */
const replaceKey = (text: string) => {
  const file = join(folder, 'key')
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

const connectWith = async (setting: string, text: string) => {
  replaceKey(text)
  const config = settings({ NATS_URL: `nats://127.0.0.1:${port}`, [`${setting}_FILE`]: join(folder, 'key') })
  return connectNats({ config, name: 'spec', logger, lifecycle })
}

test('an NKey opens a server that knows its public half, and is read again for the next connection', async () => {
  const [older, newer] = [createUser(), createUser()]
  const serveTo = (user: typeof older) => serve(`authorization { users: [{ nkey: ${user.getPublicKey()} }] }`)
  await serveTo(older)
  const nats = await connectWith('NATS_NKEY', `${decodeText(older.getSeed())}\n`)
  await nats.flush()
  await serveTo(newer)
  replaceKey('not a seed')
  replaceKey(`${decodeText(newer.getSeed())}\n`)
  await eventually(() => nats.rtt())
})

test('a credentials file opens a server of an operator, before and after its JWT expires', async () => {
  const [operator, account] = [createOperator(), createAccount()]
  const limits = { conn: -1, subs: -1, data: -1, payload: -1 }
  const accountJwt = await encodeAccount('leadwire', account, { limits }, { signer: operator })
  await serve(
    `operator: ${await encodeOperator('spec', operator)}
     resolver: MEMORY
     resolver_preload: { ${account.getPublicKey()}: ${accountJwt} }`,
  )
  const credentials = async (seconds: number) => {
    const user = createUser()
    const exp = Math.floor(Date.now() / 1000) + seconds
    return decodeText(fmtCreds(await encodeUser('spec', user, account, {}, { exp }), user))
  }
  // Renews the JWT until the client has connected. On a busy machine, the first JWT might expire earlier.
  const renewal = setInterval(async () => replaceKey(await credentials(5)), 1000)
  const nats = await connectWith('NATS_CREDENTIALS', await credentials(5)).finally(() =>
    clearInterval(renewal),
  )
  const seen: string[] = []
  const statuses = nats.status()
  void (async () => {
    for await (const status of statuses)
      seen.push(status.type === 'error' ? status.error.message : status.type)
  })()
  // The server closes the connection when the JWT expires, and refuses the client from then on. By default, a
  // client gives up after the second refusal.
  await eventually(() =>
    expect(seen.filter((one) => one === 'Authorization Violation').length).toBeGreaterThan(2),
  )
  seen.length = 0
  replaceKey(await credentials(3600))
  await eventually(() => expect(seen).toContain('reconnect'))
  await nats.rtt()
  // The server answers each refused attempt after some two seconds, and far later on a busy machine.
}, 300_000)

test.each([
  [{ NATS_NKEY: 'SUAAAA' }, { NATS_NKEY: expect.stringContaining('nkeys: ') }],
  [{ NATS_CREDENTIALS: 'jwt' }, { NATS_CREDENTIALS: 'unable to parse credentials' }],
  [
    { NATS_URL: 'nats://user:password@nats', NATS_NKEY: decodeText(createUser().getSeed()) },
    { NATS_URL: 'set only one of: NATS_NKEY, the user and password of a server' },
  ],
  [{}, { NATS_URL: expect.stringContaining('no user and password') }],
])('%o is an error of its setting', (change, errors) => {
  const read = () => settings({ NATS_URL: 'nats://nats', ...change })
  expect(read).toThrow(ConfigError)
  expect(read).toThrow(expect.objectContaining({ errors }))
})
