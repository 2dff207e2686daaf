import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { eventually, freePort } from '@leadwire/test-kit'

const program = resolve(__dirname, '../../embedded/dist/main.js')

let room: string
let child: ChildProcess | undefined
beforeEach(async () => {
  room = await mkdtemp(join(tmpdir(), 'leadwire-start-'))
})
afterEach(async () => {
  child?.kill('SIGKILL')
  await rm(room, { recursive: true, force: true })
})

/** What `npm start` runs once everything is built, on a data folder of its own. */
const start = (args: string[], env: Record<string, string>) => {
  const data = join(room, 'data')
  const started = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, LEADWIRE_DATA: data, LOG_LEVEL: 'info', ...env },
  })
  child = started
  const output = { stdout: '', stderr: '' }
  started.stdout.on('data', (chunk) => {
    output.stdout += chunk
  })
  started.stderr.on('data', (chunk) => {
    output.stderr += chunk
  })
  return { data, output, ended: once(started, 'close').then(([code]) => code as number) }
}

test('faulty settings of all services are listed at once, and nothing is started', async () => {
  const { data, output, ended } = start([], {
    LOG_LEVEL: 'loud',
    PORT: 'http',
    TIME_ZONE: 'Mars/Olympus',
    STORE_URL: 'ftp://files',
    WEBHOOK_TIMEOUT: 'soon',
  })
  expect(await ended).toBe(1)
  expect(output.stdout).toBe('')
  expect(output.stderr).toMatch(/^\nLeadwire can't start: \d settings are faulty\.\n/)
  expect(output.stderr).toMatch(/^ {2}gateway +PORT +.*"http"$/m)
  expect(output.stderr).toMatch(/^ {2}gateway, webhook-service +TIME_ZONE +.*Mars\/Olympus.*$/m)
  expect(output.stderr).toMatch(/^ {2}webhook-service +WEBHOOK_TIMEOUT +.*"soon".*$/m)
  expect(output.stderr).toMatch(/^ {2}files-service +STORE_URL +.*"ftp:\/\/files".*$/m)
  expect(output.stderr).toMatch(/^ {2}gateway, .*LOG_LEVEL +.*"loud".*$/m)
  expect(output.stderr).not.toContain('{')
  expect(existsSync(data)).toBe(false)
})

test('a start says how far it is, and ends with every address', async () => {
  const base = `http://127.0.0.1:${await freePort()}`
  const hook = `http://127.0.0.1:${await freePort()}/hook`
  const { output, ended } = start(['--webhook-url', hook], { PORT: new URL(base).port })
  await eventually(() => expect(output.stdout).toContain('Ctrl-C stops everything'))
  const said = output.stdout.split('\n').flatMap((line) => /^leadwire +(.*)/.exec(line)?.[1] ?? [])
  expect(said).toContain('making the databases and starting PostgreSQL')
  expect(said).toContain('starting nats-server')
  expect(said.at(-1)).toMatch(/ is ready \(4 of 4 services\)$/)
  for (const path of ['/docs', '/openapi.json', '/console', '/readyz']) {
    expect(output.stdout).toContain(base + path)
    expect((await fetch(base + path)).status).toBe(200)
  }
  expect(output.stdout).toMatch(new RegExp(`Webhooks to ${hook} +\\(secret \\S+\\)`))
  child!.kill('SIGINT')
  expect(await ended).toBe(0)
  expect(output.stderr).toBe('')
})
