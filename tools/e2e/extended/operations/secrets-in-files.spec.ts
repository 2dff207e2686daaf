import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cutConnections, eventually, startPostgresServer, type TestPostgres } from '@leadwire/test-kit'
import { Client } from 'pg'
import { type Stage, startStage, type Tenant } from '../../support/stage'
import { type Collector, startCollector } from './collector.fixture'

let folder: string
let postgres: TestPostgres
let admin: Client
let collector: Collector
let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadwire-secrets-'))
  postgres = await startPostgresServer()
  admin = new Client({ connectionString: postgres.url })
  await admin.connect()
  await postgres.requirePasswords()
  await admin.query("CREATE ROLE app SUPERUSER LOGIN PASSWORD 'first'")
  collector = await startCollector()
  stage = await startStage({
    postgres: postgres.url,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' },
  })
  tenant = await stage.newTenant()
  for (const service of stage.system.services) {
    const { SERVICE_TOKEN, NATS_URL, DATABASE_URL, SMTP_URL, ...others } = service.env
    const url = new URL(DATABASE_URL ?? 'postgresql://none')
    url.username = 'app'
    service.env = {
      ...others,
      SERVICE_TOKEN_FILE: await write('token', SERVICE_TOKEN!),
      OTEL_EXPORTER_OTLP_HEADERS_FILE: await write('headers', 'x-key=first'),
      ...(SMTP_URL && { SMTP_URL_FILE: await write('smtp', SMTP_URL) }),
      ...(NATS_URL && { NATS_URL_FILE: await write('nats', NATS_URL) }),
      ...(DATABASE_URL && {
        DATABASE_URL: url.href,
        DATABASE_PASSWORD_FILE: await write('password', 'first'),
      }),
    }
    await stage.system.restart(service.name)
  }
})
afterAll(async () => {
  await stage.stop()
  await collector.stop()
  await admin.end()
  await postgres.stop()
  await rm(folder, { recursive: true })
})

/** Writes a secret into a file. */
const write = async (name: string, secret: string) => {
  const file = join(folder, name)
  await writeFile(file, `${secret}\n`)
  return file
}

const attach = (reference: string) =>
  tenant.send('POST', `/leads/${reference}/attachments`, {
    multipart: [
      { name: 'name', value: 'Survey' },
      { name: 'file', value: 'Three windows.', fileName: 'survey.txt', type: 'text/plain' },
    ],
  })

test('the service token changes in its file under load, and no request fails', async () => {
  const files = stage.system.services.find(({ service }) => service === 'files-service')!
  const statusWith = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${files.http}/files?unchanged_for=3600`, { headers })).status
  }
  const [before, after] = [stage.system.serviceToken, 'another-token-of-services']
  for (const tokens of [`${before},${after}`, `${after},${before}`, after]) {
    await write('token', tokens)
    for (let count = 0; count < 5; count++) await attach((await tenant.createLead()).reference)
  }
  expect([await statusWith(before), await statusWith(after)]).toEqual([401, 200])
})

test('the password of NATS changes in its file, and webhooks arrive', async () => {
  const { receiver } = await tenant.listen()
  const { nats } = stage.system
  await nats.restart({ password: 'another' })
  await tenant.createLead()
  await write('nats', nats.url.replace(':spec@', ':another@'))
  await eventually(() => expect(receiver.requests).toHaveLength(1))
})

test('the password of PostgreSQL changes in its file, and new connections use it', async () => {
  await admin.query("ALTER ROLE app PASSWORD 'second'")
  // Connections that were opened with the old password continue to work. Retries, because the request fails
  // if all of them are in use, and a new connection is therefore opened.
  await eventually(() => tenant.createLead())
  await write('password', 'second')
  await cutConnections(stage.system.databases.leads)
  await cutConnections(stage.system.databases.webhooks)
  const { receiver } = await eventually(() => tenant.listen())
  await eventually(() => tenant.createLead())
  await eventually(() => expect(receiver.requests.length).toBeGreaterThan(0))
})

test('the mail server changes in its file, and the next e-mail goes to the new one', async () => {
  const other = await mkdtemp(join(folder, 'mails-'))
  await write('smtp', pathToFileURL(other).href)
  const { reference } = await tenant.createLead()
  const { id } = await tenant.send<{ id: number }>('POST', '/manage/users', {
    json: { email: 'sam@example.com', name: 'Sam' },
  })
  const json = { user_id: id, notify: true, date: '24/12/2030 14:30' }
  await tenant.send('POST', `/leads/${reference}/appointments`, { json })
  await eventually(async () => expect(await readdir(other)).toHaveLength(1))
})

test('the key for the collector of traces changes in its file, and the next spans have the new key', async () => {
  expect(collector.keys).toContain('first')
  await write('headers', 'x-key=second')
  // Creates more leads if the last spans that arrived were sent before the change.
  await eventually(async () => {
    await tenant.createLead()
    expect(collector.keys.at(-1)).toBe('second')
  })
})
