import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createDatabase, eventually } from '@leadwire/test-kit'
import { Client } from 'pg'

const ROOT = join(__dirname, '../../../..')

const env = {
  PATH: process.env['PATH'],
  LOG_LEVEL: 'info',
  HEALTH_PORT: '1',
  GRPC_PORT: '2',
  SERVICE_TOKEN: 'a-token-for-this-spec',
  ENCRYPTION_KEYS: Buffer.alloc(32, 7).toString('base64'),
  NATS_URL: 'nats://user:password@127.0.0.1:9',
  ASSETS_URL: 'http://assets.test',
  WEBHOOK_SERVICE_URL: '127.0.0.1:9',
  FILES_SERVICE_URL: 'http://127.0.0.1:9',
  LEADS_SERVICE_URL: '127.0.0.1:9',
  SMTP_URL: 'smtp://127.0.0.1:9',
  SMTP_FROM: 'leads@example.com',
}

/** Starts a built service with --migrate. Only the database exists; all other dependencies are missing. */
const startMigrating = (service: string, databaseUrl: string) => {
  const child = spawn(process.execPath, [join(ROOT, 'apps', service, 'dist/main.js'), '--migrate'], {
    env: { ...env, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let log = ''
  child.stdout.on('data', (chunk) => (log += chunk))
  const ended = once(child, 'close').then(([code]) => code as number)
  return { child, ended, log: () => log }
}

test.each([
  ['leads-service', 'leads'],
  ['webhook-service', 'deliveries'],
])('%s --migrate updates the schema of its database, and a second run changes nothing', async (service, table) => {
  const database = await createDatabase({ name: 'migrate' })
  try {
    expect(await startMigrating(service, database.url).ended).toBe(0)
    expect(await startMigrating(service, database.url).ended).toBe(0)
    const client = new Client({ connectionString: database.url })
    await client.connect()
    const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS there', [table])
    await client.end()
    expect(rows).toEqual([{ there: true }])
  } finally {
    await database.drop()
  }
})

test('a migration that is stopped before its end fails', async () => {
  const { child, ended, log } = startMigrating('leads-service', 'postgresql://nobody@127.0.0.1:9/leads')
  await eventually(() => expect(log()).toContain('waiting for the database'))
  child.kill('SIGTERM')
  expect(await ended).toBe(1)
})

test('--migrate of a service without a database fails with the reason', async () => {
  const { ended, log } = startMigrating('gateway', 'postgresql://nobody@127.0.0.1:9/leads')
  expect(await ended).toBe(1)
  expect(log()).toContain('no database to migrate')
})
