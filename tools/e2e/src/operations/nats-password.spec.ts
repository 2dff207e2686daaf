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
  console.warn('SKIPPED: passwords of NATS. There is neither htpasswd nor a perl that knows bcrypt')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leadwire-nats-password-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What nats-server gets, and the URL that its clients use. */
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
  const dataOf = (name: string) => secrets.find(({ metadata }) => metadata.name === name).stringData
  const values = parse(readFileSync(join(DEPLOY, 'helm/stores/nats-small.yaml'), 'utf8'))
  const { user, password } = values.config.merge.authorization
  // The chart takes the marks off.
  const reference = /^<< (.*) >>$/.exec(password)![1]
  return {
    authorization: `authorization { user: ${user}, password: ${reference} }`,
    env: { NATS_PASSWORD: dataOf('leadwire-nats').password },
    url: dataOf('leadwire-secrets').NATS_URL,
  }
}

/** What a server says to a client that shows these. */
const answerTo = async (port: number, user: string, pass: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'data')
  socket.write(`CONNECT ${JSON.stringify({ user, pass })}\r\nPING\r\n`)
  const [answer] = await once(socket, 'data')
  socket.destroy()
  return String(answer)
}

;(canHash ? test.each : test.skip.each)([
  ['compose', ofCompose],
  ['the chart', ofChart],
])(
  'with the secrets of %s nats-server keeps a hash, and takes the password of its URL alone',
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
