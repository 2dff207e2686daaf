import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { eventually, freePort } from '@leadwire/test-kit'
import { parse, parseAllDocuments } from 'yaml'

const DEPLOY = resolve(__dirname, '../../../../deploy')

const canHash = spawnSync(join(DEPLOY, 'hash-password.sh'), { input: 'password\n' }).status === 0
if (!canHash)
  console.warn('SKIPPED: the specs of NATS passwords. There is neither htpasswd nor a perl with bcrypt')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leadwire-nats-password-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The configuration and the environment of nats-server, and the URL of its clients. */
interface Secrets {
  authorization: string
  env?: Record<string, string>
  url: string
}

const ofCompose = (): Secrets => {
  for (const script of ['make-secrets.sh', 'hash-password.sh'])
    cpSync(join(DEPLOY, script), join(folder, script))
  execFileSync(join(folder, 'make-secrets.sh'))
  const secret = (name: string) => readFileSync(join(folder, 'secrets', name), 'utf8')
  return { authorization: secret('nats.conf'), url: secret('nats_url') }
}

const ofChart = (): Secrets => {
  const written = execFileSync(join(DEPLOY, 'helm/make-secrets.sh'), ['smtp://mail.example.com'], {
    encoding: 'utf8',
  })
  const secrets = parseAllDocuments(written).map((secret) => secret.toJS())
  const readSecret = (name: string) => secrets.find(({ metadata }) => metadata.name === name).stringData
  const values = parse(readFileSync(join(DEPLOY, 'helm/stores/nats-small.yaml'), 'utf8'))
  const { user, password } = values.config.merge.authorization
  // Removes the marks `<<` and `>>`, as the chart of NATS does.
  const reference = /^<< (.*) >>$/.exec(password)![1]
  return {
    authorization: `authorization { user: ${user}, password: ${reference} }`,
    env: { NATS_PASSWORD: readSecret('leadwire-nats').password },
    url: readSecret('leadwire-secrets').NATS_URL,
  }
}

/** Returns the text that a server sends to a client with this user and password, up to its PONG or error. */
const answerTo = async (port: number, user: string, pass: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'data')
  socket.write(`CONNECT ${JSON.stringify({ user, pass })}\r\nPING\r\n`)
  let received = ''
  for await (const chunk of socket) {
    received += chunk
    if (/PONG|-ERR/.test(received)) break
  }
  return received
}

;(canHash ? test.each : test.skip.each)([
  ['compose', ofCompose],
  ['the chart', ofChart],
])(
  'with the secrets of %s nats-server has only a hash, and accepts only the password in the URL',
  async (_, make) => {
    const { authorization, env, url } = make()
    const { username, password } = new URL(url)
    const port = await freePort()
    const config = join(folder, 'nats-server.conf')
    writeFileSync(config, `listen: "127.0.0.1:${port}"\n${authorization}`)
    const server = spawn(process.env['LEADWIRE_TEST_NATS_SERVER']!, ['--config', config], {
      env: { ...process.env, ...env },
    })
    const ended = once(server, 'close')
    try {
      let log = ''
      server.stderr.on('data', (chunk) => {
        log += chunk
      })
      await eventually(() => expect(log).toContain('Server is ready'))
      expect(await answerTo(port, username, password)).toContain('PONG')
      expect(await answerTo(port, username, 'another')).toContain('Authorization Violation')
      expect(log).not.toContain('Plaintext')
      expect(authorization + JSON.stringify(env)).not.toContain(password)
    } finally {
      server.kill()
      await ended
    }
  },
)
