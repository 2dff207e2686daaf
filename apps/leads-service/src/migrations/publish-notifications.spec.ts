import { migrate } from '@leadwire/service-kit'
import { createDatabase } from '@leadwire/test-kit'
import { Client } from 'pg'
import { migrations } from '.'
import { firstSchema } from './0001-first-schema'

test('notifications that were recorded before anybody sent them are removed, and leads stay', async () => {
  const database = await createDatabase({ name: 'leads' })
  await migrate(database.url, [firstSchema])
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query(`
    WITH account AS (INSERT INTO accounts (name, api_key) VALUES ('Bay', 'lw_key_${'k'.repeat(43)}') RETURNING id)
    INSERT INTO outbox (event_id, account_id, kind, payload)
    SELECT gen_random_uuid(), id, kind, '' FROM account, unnest('{lead.created,notification.requested}'::text[]) AS kind`)
  await migrate(database.url, migrations)
  expect((await client.query('SELECT type FROM outbox')).rows).toEqual([{ type: 'lead.created' }])
  await client.end()
  await database.drop()
})
