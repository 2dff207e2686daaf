import { join } from 'node:path'
import { startPostgresServer, type TestPostgres } from '@leadwire/test-kit'
import { Client } from 'pg'
import { inReadme } from './readme.fixture'
import { HELM, readYaml } from './render.fixture'

// Not the server of all specs: who may connect to its database `postgres` changes.
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

/** What CloudNativePG runs in a new cluster, in its order. */
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
])('%s gives each service a database that the other’s role can’t reach', async (_, statements) => {
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
