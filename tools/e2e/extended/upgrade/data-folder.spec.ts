import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, freePort, migrate, type Receiver, settingsToMigrate } from '@leadwire/test-kit'
import { createClient } from '../../support/client'
import { openFolder } from '../../support/open-folder'
import { type Lead, type Tenant, tenant } from '../../support/stage'
import { makeHistory } from './history.fixture'
import { type MixedLoad, startMixedLoad } from './mixed-load.fixture'
import { BUILT_WITHIN_MS, describeUpgrade, previousRelease } from './previous-release.fixture'

const ROOT = resolve(__dirname, '../../../..')
/** The number of leads, and also of deliveries, in the migrated tables. */
const ROWS = process.env['LEADWIRE_UPGRADE_ROWS'] ?? '2000'
/** The file to which a line about each migration is appended, or undefined. */
const REPORT = process.env['LEADWIRE_UPGRADE_REPORT']

type Dev = {
  base_url: string
  token: string
  account: Tenant['account']
  postgres_url: string
  service_token: string
}

// Skips the specs if LEADWIRE_POSTGRES_PACKAGE selects a version of PostgreSQL. The previous release starts
// its own version, and PostgreSQL cannot open the data of another version.
const suite = process.env['LEADWIRE_POSTGRES_PACKAGE'] ? describe.skip : describeUpgrade()

suite('a data folder of the previous release', () => {
  let old: string
  let room: string
  let base: string
  let stack: ChildProcess | undefined
  let dev: Dev
  let us: Tenant
  let receiver: Receiver
  let load: MixedLoad
  let history: Awaited<ReturnType<typeof makeHistory>>
  const closing: (() => Promise<unknown>)[] = []
  const env = () => ({
    ...process.env,
    LEADWIRE_DATA: join(room, 'data'),
    PORT: new URL(base).port,
    WEBHOOK_RETRY_SCHEDULE: '100ms,100ms,100ms,100ms,100ms',
  })

  const start = async (root: string) => {
    const main = join(root, 'tools/embedded/dist/main.js')
    stack = spawn(process.execPath, [main], { cwd: root, env: env(), stdio: ['ignore', 'ignore', 'inherit'] })
    dev = await eventually(
      async () => {
        expect(stack).toMatchObject({ exitCode: null })
        return JSON.parse(await readFile(join(room, 'data/dev.json'), 'utf8'))
      },
      { timeoutMs: 120_000 },
    )
  }
  const stop = async () => {
    const ended = once(stack!, 'exit')
    stack!.kill('SIGINT')
    expect((await ended)[0]).toBe(0)
    stack = undefined
  }
  const run = async (root: string, tool: string, args: string[]) => {
    const main = join(root, 'tools', tool, 'dist/main.js')
    return (await promisify(execFile)(process.execPath, [main, ...args], { cwd: root, env: env() })).stdout
  }

  beforeAll(async () => {
    old = await previousRelease()
    room = await openFolder('leadwire-upgrade-')
    base = `http://127.0.0.1:${await freePort()}`
    await start(old)
    const client = createClient(base, { token: dev.token })
    closing.push(() => client.close())
    const onReceiver = (one: Receiver) => closing.push(() => one.stop())
    us = tenant({ ...dev, client, onReceiver })
    // Uses a separate account for the history, so that the load does not change the history.
    const { token, ...account } = JSON.parse(
      await run(old, 'leadwire', ['accounts', 'create', '--name', 'Past', '--json']),
    )
    const pastClient = createClient(base, { token })
    closing.push(() => pastClient.close())
    history = await makeHistory(tenant({ account, token, client: pastClient, onReceiver }))
    const listening = await us.listen()
    receiver = listening.receiver
    await run(old, 'fill', ['--account', String(dev.account.id), '--leads', ROWS])
    await run(old, 'fill', [
      '--endpoint',
      String(listening.id),
      '--deliveries',
      ROWS,
      '--status',
      'delivered',
    ])
    load = startMixedLoad({ bases: [base], token: dev.token })
    await load.moves(20)
  }, BUILT_WITHIN_MS)
  afterAll(async () => {
    await load?.stop()
    await Promise.all(closing.map((close) => close()))
    stack?.kill('SIGKILL')
    await rm(room, { recursive: true, force: true })
  })

  test.each([
    ['leads-service', 'leads'],
    ['webhook-service', 'webhooks'],
  ] as const)(
    'is migrated for %s under load, and no request fails',
    async (service, database) => {
      load.resetLongest()
      const url = new URL(dev.postgres_url)
      url.pathname = database
      const began = performance.now()
      await migrate(service, settingsToMigrate(url.href))
      const took = performance.now() - began
      await load.moves(10)
      expect(load.failures).toEqual([])
      const line = `| ${service} | ${ROWS} | ${Math.round(took)} | ${Math.round(load.longestMs())} |\n`
      if (REPORT) await appendFile(REPORT, line)
    },
    BUILT_WITHIN_MS,
  )

  test(
    'works with this release: the data are unchanged, nothing is lost, and reconciliation finds nothing',
    async () => {
      await load.stop()
      await stop()
      await start(ROOT)
      await history.expectUnchanged()
      await history.expectReplays()
      const { reference } = await us.createLead()
      const expected = [...load.accepted, reference].sort()
      const told = () =>
        receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { data: Lead }).data.reference)
      await eventually(() => expect(told().sort()).toEqual(expected))
      const found = JSON.parse(await run(ROOT, 'leadwire', ['reconcile', '--full', '--json']))
      expect(found).toMatchObject({ unexplained_count: 0 })
      await stop()
    },
    BUILT_WITHIN_MS,
  )
})
