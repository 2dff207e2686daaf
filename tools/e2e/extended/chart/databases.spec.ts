import { join } from 'node:path'
import { startPostgresServer, type TestPostgres } from '@leadwire/test-kit'
import { Client } from 'pg'
import { inReadme } from './readme.fixture'
import { HELM, readYaml } from './render.fixture'

// Starts a separate server, because the statements under test change who may connect to the database
// `postgres`.
let server: TestPostgres
let admin: Client
beforeAll(async () => {
  server = await startPostgresServer()
  admin = new Client({ connectionString: server.url })
  await admin.connect()
})
afterAll(async () => {
  await admin?.end()
  await server?.stop()
})
afterEach(async () => {
  for (const name of ['leads', 'webhooks']) {
    await admin.query(`drop database ${name}`)
    await admin.query(`drop role ${name}`)
  }
})

/** Lists the statements that CloudNativePG runs in a new cluster, in their order. */
const byOperator = (size: string): string[] => {
  const { initdb } = readYaml(join(HELM, `stores/postgresql-${size}.yaml`)).spec.bootstrap
  return [
    `create role ${initdb.owner} login`,
    ...initdb.postInitSQL,
    `create database ${initdb.database} owner ${initdb.owner}`,
    ...initdb.postInitApplicationSQL,
  ]
}
const byReadme = inReadme('With PostgreSQL, NATS and S3 that you have', 'sql').trim().split('\n')

test.each([
  ['the README', byReadme],
  ['stores/postgresql-small.yaml', byOperator('small')],
  ['stores/postgresql-medium.yaml', byOperator('medium')],
])('%s gives each service a database to which the other service cannot connect', async (_, statements) => {
  for (const statement of statements) await admin.query(statement)
  const { rows } = await admin.query(`
    select rolname as role, datname as database, pg_get_userbyid(datdba) = rolname as owns
    from pg_roles, pg_database
    where rolname in ('leads', 'webhooks') and datname in ('leads', 'webhooks')
      and has_database_privilege(rolname, datname, 'connect')
    order by role, database`)
  expect(rows).toEqual([
    { role: 'leads', database: 'leads', owns: true },
    { role: 'webhooks', database: 'webhooks', owns: true },
  ])
})

test.each([
  ['the README', byReadme],
  ['stores/postgresql-small.yaml', byOperator('small')],
  ['stores/postgresql-medium.yaml', byOperator('medium')],
])('%s sets the locale of each database that it creates, whatever the locale of the cluster is', async (_, statements) => {
  for (const statement of statements) await admin.query(statement)
  const created = statements.flatMap((statement) => /^CREATE DATABASE (\w+)/.exec(statement)?.[1] ?? [])
  expect(created).toContain('webhooks')
  const { rows } = await admin.query(
    'select distinct datcollate as collate, datctype as ctype from pg_database where datname = any ($1)',
    [created],
  )
  expect(rows).toEqual([{ collate: 'C.UTF-8', ctype: 'C.UTF-8' }])
})
