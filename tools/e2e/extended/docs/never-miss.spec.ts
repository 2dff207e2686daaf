import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { createDatabase, eventually, freePort, type TestDatabase } from '@leadwire/test-kit'
import { Client } from 'pg'
import { type Stage, startStage } from '../../support/stage'

const ROOT = resolve(__dirname, '../../../..')
const SECRET = 'a-secret-of-my-own'
const LEADS = 24

let stage: Stage
let database: TestDatabase
let folder: string
let guide: string
beforeAll(async () => {
  ;[stage, database] = await Promise.all([startStage(), createDatabase({ name: 'program' })])
  guide = await readFile(join(ROOT, 'docs/guides/never-miss-a-lead.md'), 'utf8')
})
afterAll(async () => {
  await stage?.stop()
  await database?.drop()
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadwire-program-'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const file of ['verify_webhook.py', 'verify-webhook.php'])
    await copyFile(join(ROOT, 'docs/webhooks/snippets', file), join(folder, file))
})
afterEach(() => rm(folder, { recursive: true }))

type Kept = { tasks: [lead: string, task: string][]; versions: number[]; events: number }

const printedBy = async (program: string, ...args: string[]): Promise<Kept> =>
  JSON.parse((await promisify(execFile)(program, args, { cwd: folder })).stdout)

const PYTHON_READER = `import json, sqlite3
rows = lambda sql: sqlite3.connect("leads.db", timeout=10).execute(sql).fetchall()
print(json.dumps({"tasks": rows("SELECT * FROM tasks"), "versions": [v for v, in rows("SELECT version FROM lead_versions")],
  "events": rows("SELECT count(*) FROM events")[0][0]}))`
const PHP_READER = `$rows = fn ($sql, $mode) => (new PDO('sqlite:leads.db'))->query($sql)->fetchAll($mode);
echo json_encode(['tasks' => $rows('SELECT * FROM tasks', PDO::FETCH_NUM), 'versions' =>
  $rows('SELECT version FROM lead_versions', PDO::FETCH_COLUMN), 'events' => $rows('SELECT id FROM events', PDO::FETCH_COLUMN)]);`

const readPostgres = async (): Promise<Kept> => {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  try {
    const rows = async (sql: string) => (await client.query({ text: sql, rowMode: 'array' })).rows
    const [tasks, versions] = [
      await rows('SELECT * FROM tasks'),
      await rows('SELECT version FROM lead_versions'),
    ]
    const [[events]] = (await rows('SELECT count(*)::int FROM events')) as [[number]]
    return { tasks: tasks as Kept['tasks'], versions: versions.flat(), events }
  } finally {
    await client.end()
  }
}
const readPhp = async () => {
  const { events, ...kept } = await printedBy('php', '-r', PHP_READER)
  return { ...kept, events: (events as unknown as string[]).length }
}

const answers = (program: string, ...args: string[]) => spawnSync(program, args).status === 0

/**
 * The programs of the guide and the commands that run them. The PHP receiver does not read the event log, so
 * a second command reads it.
 */
const PROGRAMS = [
  {
    name: 'Node',
    fence: 'js',
    file: 'never-miss.mjs',
    isHere: true,
    missing: '',
    read: readPostgres,
    commands: () => [[process.execPath, 'never-miss.mjs']],
  },
  {
    name: 'Python',
    fence: 'python',
    file: 'never_miss.py',
    read: () => printedBy('python3', '-c', PYTHON_READER),
    isHere: answers('python3', '--version'),
    missing: 'python3',
    commands: () => [['python3', 'never_miss.py']],
  },
  {
    name: 'PHP',
    fence: 'php',
    file: 'never-miss.php',
    read: readPhp,
    missing: 'PHP with curl and SQLite',
    isHere: answers('php', '-r', "exit(extension_loaded('pdo_sqlite') && extension_loaded('curl') ? 0 : 1);"),
    commands: (port: number) => [
      ['php', '-S', `127.0.0.1:${port}`, 'never-miss.php'],
      ['php', 'never-miss.php'],
    ],
  },
]

const start = async (commands: string[][], env: NodeJS.ProcessEnv): Promise<ChildProcess[]> => {
  const children = commands.map(([program, ...args]) =>
    spawn(program!, args, { cwd: folder, env: { ...process.env, ...env }, stdio: 'ignore' }),
  )
  await eventually(() => fetch(`http://127.0.0.1:${env['WEBHOOK_PORT']}/`))
  return children
}
const kill = (children: ChildProcess[]) =>
  Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || !child.kill('SIGKILL')) return
      await once(child, 'exit')
    }),
  )

describe.each(PROGRAMS)('the program in $name', ({ fence, file, isHere, missing, read, commands }) => {
  const run = isHere ? test : test.skip
  const skipped = isHere ? '' : ` (skipped: there is no ${missing} on this machine)`

  run(
    `loses and repeats nothing while it and webhook-service are killed${skipped}`,
    async () => {
      const [program] = [...guide.matchAll(new RegExp(`^\`\`\`${fence}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))]
      await writeFile(join(folder, file), program![1]!)
      const tenant = await stage.newTenant()
      const port = await freePort()
      const env = {
        BASE_URL: stage.system.baseUrl,
        TOKEN: (await tenant.newToken({ scopes: ['events:read'] })).token,
        DATABASE_URL: database.url,
        WEBHOOK_SECRET: SECRET,
        WEBHOOK_PORT: String(port),
      }
      let running = await start(commands(port), env)
      const endpoint = {
        url: `http://127.0.0.1:${port}/`,
        secret: SECRET,
        events: ['lead.created', 'lead.updated'],
      }
      await tenant.send('POST', '/manage/webhook-endpoints', { json: endpoint })

      let killing = true
      const killAll = async (once: () => Promise<void>) => {
        while (killing) await once()
      }
      const kills = [
        killAll(async () => {
          await kill(running)
          running = await start(commands(port), env)
        }),
        killAll(async () => {
          await stage.system.kill('webhook-service')
          await stage.system.restart('webhook-service')
        }),
      ]
      const write = async () => {
        const { reference } = await tenant.createLead()
        for (const status of ['sold', 'lost'])
          await tenant.send('PATCH', `/leads/${reference}`, { json: { status } })
        return reference
      }
      const leads: string[] = []
      for (let at = 0; at < LEADS; at += 4) leads.push(...(await Promise.all([1, 2, 3, 4].map(write))))
      killing = false
      await Promise.all(kills)
      await eventually(
        async () => {
          const query = '/manage/events?limit=100'
          const { json } = await tenant.client.request<{ data: object[] }>('GET', query)
          expect(json.data).toHaveLength(3 * LEADS)
        },
        { timeoutMs: 60_000 },
      )
      // Restarts once more, so that the program sees the whole log.
      await kill(running)
      running = await start(commands(port), env)
      try {
        await eventually(async () => expect((await read()).events).toBe(3 * LEADS), { timeoutMs: 60_000 })
        const { tasks, versions } = await read()
        const of = (type: string) => tasks.filter(([, task]) => task === type).map(([lead]) => lead)
        expect(of('lead.created').sort()).toEqual(leads.sort())
        expect(versions).toEqual(Array(LEADS).fill(3))
        // The program may skip an update if a newer update of the lead has arrived.
        for (const lead of leads)
          expect([1, 2]).toContain(of('lead.updated').filter((one) => one === lead).length)
      } finally {
        await kill(running)
      }
    },
    240_000,
  )
})
