import { migrate } from '@leadwire/service-kit'
import { createDatabase } from '@leadwire/test-kit'
import { Client } from 'pg'
import { migrations } from '.'

// Each row has the first steps of a development version.
test.each([
  [['0001-accounts', '0002-leads']],
  [['0001-first-schema', '0002-publish-notifications']],
  [['0001-schema']],
  [['0001-schema', '0002-scopes', '0003-token-endpoint']],
])('a database with the steps %j of a development version is refused, with what to do', async (names) => {
  const database = await createDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query('CREATE TABLE knex_migrations (id serial PRIMARY KEY, name text)')
  await client.query('INSERT INTO knex_migrations (name) SELECT unnest($1::text[])', [names])
  await expect(migrate(database.url, migrations)).rejects.toThrow(
    /^A development version of Leadwire made this database.*leadwire export.*empty database.*leadwire import/,
  )
  const { rows } = await client.query("SELECT relname FROM pg_class WHERE relname IN ('accounts', 'leads')")
  expect(rows).toEqual([])
  await client.end()
  await database.drop()
})
