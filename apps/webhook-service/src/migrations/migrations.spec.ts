import { migrate } from '@leadwire/service-kit'
import { createDatabase } from '@leadwire/test-kit'
import { Client } from 'pg'
import { migrations } from '.'

// Each row has the first steps of a development version.
test.each([
  [['001-create-schema', '002-rotate-and-retry']],
  [['001-first-schema', '002-notifications']],
  [['001-schema']],
  [['001-schema', '002-attempt-reason', '003-replays']],
])('a database with the steps %j of a development version is refused, with what to do', async (names) => {
  const database = await createDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query('CREATE TABLE knex_migrations (id serial PRIMARY KEY, name text)')
  await client.query('INSERT INTO knex_migrations (name) SELECT unnest($1::text[])', [names])
  await expect(migrate(database.url, migrations)).rejects.toThrow(
    /^A development version of Leadwire made this database.*leadwire export.*empty database.*leadwire import/,
  )
  const { rows } = await client.query("SELECT relname FROM pg_class WHERE relname IN ('endpoints', 'events')")
  expect(rows).toEqual([])
  await client.end()
  await database.drop()
})
