import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { eventually, freePort, startReceiver } from '@leadwire/test-kit'
import { Client } from 'pg'
import { createClient } from '../support/client'
import { openFolder } from '../support/open-folder'
import { LEAD } from '../support/stage'

const program = resolve(__dirname, '../../embedded/dist/main.js')
const leadwire = resolve(__dirname, '../../leadwire/dist/main.js')

let room: string
const running: ChildProcess[] = []
beforeEach(async () => {
  room = await openFolder('leadwire-start-')
})
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
  // Retries, because PostgreSQL may still write files while it stops.
  await rm(room, { recursive: true, force: true, maxRetries: 5 })
})

/**
 * Starts a stack as `npm start` does after the build, on a separate data folder. `within` is a command that
 * runs the stack, such as CONTAINER.
 */
const start = (args: string[], env: Record<string, string>, within: string[] = []) => {
  const data = join(room, 'data')
  const [command, ...all] = [...within, process.execPath, program, ...args]
  const started = spawn(command!, all, {
    env: { ...process.env, LEADWIRE_DATA: data, LOG_LEVEL: 'info', ...env },
  })
  running.push(started)
  const output = { stdout: '', stderr: '' }
  started.stdout.on('data', (chunk) => {
    output.stdout += chunk
  })
  started.stderr.on('data', (chunk) => {
    output.stderr += chunk
  })
  return { data, output, child: started, ended: once(started, 'close').then(([code]) => code as number) }
}

const port = async () => ({ PORT: String(await freePort()) })
const isReady = ({ output }: Pick<ReturnType<typeof start>, 'output'>) =>
  // Includes stderr, so that a failure shows why the stack has stopped.
  eventually(() => expect(output.stdout + output.stderr).toContain('Ctrl-C stops everything'), {
    timeoutMs: 100_000,
  })
const dev = async ({ data }: ReturnType<typeof start>) =>
  JSON.parse(await readFile(join(data, 'dev.json'), 'utf8'))

test('invalid settings of all services are listed at once, and nothing is started', async () => {
  const { data, output, ended } = start([], {
    LOG_LEVEL: 'loud',
    PORT: 'http',
    TIME_ZONE: 'Mars/Olympus',
    STORE_URL: 'ftp://files',
    WEBHOOK_TIMEOUT: 'soon',
  })
  expect(await ended).toBe(1)
  expect(output.stdout).toBe('')
  expect(output.stderr).toMatch(/^\nLeadwire can't start: \d settings are invalid\.\n/)
  expect(output.stderr).toMatch(/^ {2}gateway +PORT +.*"http"$/m)
  expect(output.stderr).toMatch(
    /^ {2}gateway, leads-service, webhook-service +TIME_ZONE +.*Mars\/Olympus.*$/m,
  )
  expect(output.stderr).toMatch(/^ {2}webhook-service +WEBHOOK_TIMEOUT +.*"soon".*$/m)
  // The error must not repeat the value, which may contain keys.
  expect(output.stderr).toMatch(/^ {2}files-service +STORE_URL +must be file:.*$/m)
  expect(output.stderr).toMatch(/^ {2}gateway, .*LOG_LEVEL +.*"loud".*$/m)
  // PUBLIC_URL and ASSETS_URL have defaults that depend on PORT. The user set neither, so no error names
  // them.
  expect(output.stderr).not.toMatch(/PUBLIC_URL|ASSETS_URL/)
  expect(output.stderr).not.toContain('{')
  expect(existsSync(data)).toBe(false)
})

test('a start that is not possible prints one line with the reason and the remedy', async () => {
  const other = await startReceiver()
  const { port: taken } = new URL(other.url)
  const file = join(room, 'file')
  await writeFile(file, '')
  const reasons: [Record<string, string>, string][] = [
    [{ PORT: taken }, `port ${taken} of 127.0.0.1: another program listens there. Choose another: PORT=`],
    [{ HOST: '192.0.2.1' }, 'this machine has no such address. Choose another: HOST=127.0.0.1 npm start'],
    [{ LEADWIRE_DATA: file }, `${file} is not a folder.`],
  ]
  for (const [env, reason] of reasons) {
    const { output, ended } = start([], { ...(await port()), ...env })
    expect(await ended).toBe(1)
    expect(output.stderr).toMatch(/^\nLeadwire can't start: .*\n$/)
    expect(output.stderr).toContain(reason)
  }
  await other.stop()
})

/**
 * Waits for the first 200 of /readyz. Polls without a pause, because specs test the moment directly after
 * this response.
 */
const firstReady = async (base: string): Promise<void> => {
  for (;;) {
    const response = await fetch(`${base}/readyz`).catch(() => undefined)
    if (response?.ok) return
    await setImmediate()
  }
}

test('a start prints its progress, and then every address', async () => {
  const base = `http://127.0.0.1:${await freePort()}`
  const hook = `http://127.0.0.1:${await freePort()}/hook`
  const env = { HOST: '0.0.0.0', PORT: new URL(base).port }
  const { data, output, child, ended } = start(['--webhook-url', hook], env)
  await firstReady(base)
  expect(existsSync(join(data, 'dev.json'))).toBe(true)
  await isReady({ output })
  const said = output.stdout.split('\n').flatMap((line) => /^leadwire +(.*)/.exec(line)?.[1] ?? [])
  expect(said).toContain('creating the databases and starting PostgreSQL')
  expect(said).toContain('starting nats-server')
  expect(said.at(-1)).toMatch(/ is ready \(4 of 4 services\)$/)
  for (const path of ['/docs', '/docs/guides/first-lead', '/openapi.json', '/console', '/readyz']) {
    expect(output.stdout).toContain(base + path)
    expect((await fetch(base + path)).status).toBe(200)
  }
  expect(output.stdout).toContain(`Public URL  ${base}  (in events and links; `)
  expect(output.stdout).not.toContain('Plaintext passwords detected')
  const { nats_url } = JSON.parse(await readFile(join(data, 'dev.json'), 'utf8'))
  expect(nats_url).toMatch(/^nats:\/\/leadwire:[\w-]{43}@127\.0\.0\.1:\d+$/)
  expect(output.stdout).toMatch(new RegExp(`Webhooks to ${hook} +\\(secret \\S+\\)`))
  // Closes stdout before the stack stops, as `| tee` does: Ctrl-C ends tee first.
  child.stdout.destroy()
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  expect(output.stderr).toBe('')
  expect(existsSync(join(data, 'dev.json'))).toBe(false)
})

test('with --tls all internal connections are encrypted, and dev.json has the files for clients', async () => {
  const base = `http://127.0.0.1:${await freePort()}`
  const { data, output, child, ended } = start(['--tls'], { PORT: new URL(base).port })
  await isReady({ output })
  const dev = JSON.parse(await readFile(join(data, 'dev.json'), 'utf8'))
  expect(dev).toMatchObject({
    services: { 'files-service': { http: expect.stringMatching(/^https:/) } },
    nats_url: expect.stringMatching(/^tls:/),
    postgres_url: expect.stringContaining('sslmode=verify-full'),
    tls: { ca_file: join(data, 'tls/ca.pem') },
  })
  const encryptions = async (connectionString: string) => {
    const client = new Client({ connectionString })
    await client.connect()
    try {
      // Leaves out sessions that are starting. PostgreSQL 18 lists them before it knows their encryption.
      const sessions = await client.query(
        `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE client_addr IS NOT NULL AND state IS DISTINCT FROM 'starting'`,
      )
      return new Set(sessions.rows.map(({ ssl }) => ssl))
    } finally {
      await client.end()
    }
  }
  expect(await encryptions(dev.postgres_url)).toEqual(new Set([true]))
  await expect(encryptions(dev.postgres_url.replace(/\?.*/, ''))).rejects.toThrow('no encryption')
  const { stdout } = await promisify(execFile)(process.execPath, [leadwire, 'accounts', 'list', '--json'], {
    env: { ...process.env, LEADWIRE_DATA: data },
  })
  expect(JSON.parse(stdout)).toMatchObject([{ id: dev.account.id }])
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  expect(output.stderr).toBe('')
})

test('an empty setting counts as unset, for the stack and for the command line', async () => {
  const page = await readFile(resolve(__dirname, '../../../docs/operations.md'), 'utf8')
  const names = [...page.matchAll(/^\| (`[A-Z][A-Z0-9_]+`.*?) \|/gm)].flatMap(
    ([, cell]) => cell!.match(/[A-Z][A-Z0-9_]+/g) ?? [],
  )
  expect(names).toContain('WEBHOOK_ALLOW_HOSTS')
  const unset = Object.fromEntries(
    names.flatMap((name) => [
      [name, ''],
      [`${name}_FILE`, ''],
    ]),
  )
  const receiver = await startReceiver()
  const { data, output, child, ended } = start(['--webhook-url', receiver.url], {
    ...unset,
    GOMAXPROCS: '',
    PORT: String(await freePort()),
  })
  try {
    await isReady({ output })
    const dev = JSON.parse(await readFile(join(data, 'dev.json'), 'utf8'))
    const client = createClient(dev.base_url, { token: dev.token })
    expect(await client.request('POST', '/leads', { json: LEAD })).toMatchObject({ status: 200 })
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    expect(await readFile(`/proc/${dev.pids.nats}/environ`, 'utf8').catch(() => 'GOMAXPROCS=1')).toContain(
      'GOMAXPROCS=1',
    )
    const { stdout } = await promisify(execFile)(process.execPath, [leadwire, 'accounts', 'list', '--json'], {
      env: { ...process.env, ...unset, LEADWIRE_DATA: data },
    })
    expect(JSON.parse(stdout)).toMatchObject([{ id: dev.account.id }])
    await client.close()
  } finally {
    await receiver.stop()
  }
  child.kill('SIGINT')
  expect(await ended).toBe(0)
})

test('a start creates another token for the demo account if its token was revoked, even if the account is suspended', async () => {
  const args = ['--webhook-url', 'http://127.0.0.1:9/hook']
  const first = start(args, await port())
  await isReady(first)
  const { account, token, base_url, webhook_secret } = await dev(first)
  const client = createClient(base_url, { token })
  const { json } = await client.request<{ data: { id: number }[] }>('GET', '/manage/tokens')
  await client.request('DELETE', `/manage/tokens/${json.data[0]!.id}`)
  await client.close()
  await promisify(execFile)(
    process.execPath,
    [leadwire, 'accounts', 'suspend', '--account', String(account.id)],
    {
      env: { ...process.env, LEADWIRE_DATA: first.data },
    },
  )
  first.child.kill('SIGINT')
  await first.ended
  const second = start(args, await port())
  await isReady(second)
  const { token: renewed, ...found } = await dev(second)
  expect([found.account, found.webhook_secret, renewed === token]).toEqual([account, webhook_secret, false])
  second.child.kill('SIGINT')
  expect(await second.ended).toBe(0)
})

test('starts although a power loss has emptied its files', async () => {
  const first = start([], await port())
  await isReady(first)
  first.child.kill('SIGKILL')
  await first.ended
  for (const name of ['stack.lock', 'demo.json', 'processes.json'])
    await writeFile(join(first.data, name), '')
  const second = start([], await port())
  await isReady(second)
  expect(second.output.stdout).toContain(`${join(second.data, 'demo.json')} is empty or damaged`)
  second.child.kill('SIGINT')
  expect(await second.ended).toBe(0)
})

/**
 * Runs a command as in a container, which sees no processes and no shared memory of other containers. When
 * the first process of the command ends, all others end, too.
 */
const CONTAINER = ['unshare', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc']
const hasContainers = spawnSync(CONTAINER[0]!, [...CONTAINER.slice(1), 'true']).status === 0
const inContainers = hasContainers ? describe : describe.skip
if (!hasContainers)
  console.warn('SKIPPED: the specs of containers that share a folder. unshare --pid needs root here')

inContainers('a data folder that two containers share', () => {
  test('serves one stack at a time, and none while a server of an ended stack still runs', async () => {
    const first = start([], await port())
    await isReady(first)
    const second = start([], await port(), CONTAINER)
    expect(await second.ended).toBe(1)
    expect(second.output.stderr).toContain(
      `another stack already uses ${first.data} (pid ${first.child.pid} on `,
    )
    const { pids } = await dev(first)
    // Freezes PostgreSQL, so that it cannot end with its parent.
    process.kill(pids.postgres, 'SIGSTOP')
    try {
      first.child.kill('SIGKILL')
      await first.ended
      const third = start([], await port(), CONTAINER)
      expect(await third.ended).toBe(1)
      expect(third.output.stderr).toContain(`still runs on ${first.data}`)
    } finally {
      process.kill(pids.postgres, 'SIGCONT')
    }
  })

  test('can be used again after kill -9, and keeps its data', async () => {
    const first = start([], await port(), CONTAINER)
    await isReady(first)
    const { account, token } = await dev(first)
    first.child.kill('SIGKILL')
    await first.ended
    const second = start([], await port())
    await isReady(second)
    expect(await dev(second)).toMatchObject({ account, token })
    second.child.kill('SIGINT')
    expect(await second.ended).toBe(0)
  })
})
