import { migrate } from '@leadwire/service-kit'
import { createDatabase } from '@leadwire/test-kit'
import { Client } from 'pg'
import { migrations } from '.'
import { firstSchema } from './0001-first-schema'
import { publishNotifications } from './0002-publish-notifications'
import { removedUsers } from './0003-removed-users'
import { emailsOfPresentUsers } from './0004-emails-of-present-users'

const ADD_USER = `INSERT INTO users (account_id, email, name) SELECT id, $1, 'Sam' FROM accounts`
const REMOVE_USER = 'UPDATE users SET removed_at = clock_timestamp() WHERE email = $1'
// Of the release before, which knows it by this name.
const TAKEN = { constraint: 'users_email_once_per_account' }

test('an e-mail is taken once at every step, under the name that the release before knows, and then free after a removal', async () => {
  const database = await createDatabase({ name: 'leads' })
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const first = [firstSchema, publishNotifications]
  await migrate(database.url, first)
  await client.query(`INSERT INTO accounts (name, api_key) VALUES ('Bay', 'lw_key_${'k'.repeat(43)}')`)
  await client.query(ADD_USER, ['sam@example.test'])
  const steps = [[removedUsers], [emailsOfPresentUsers], migrations.slice(4)]
  for (const step of steps) {
    await migrate(database.url, [...first, ...step])
    await expect(client.query(ADD_USER, ['SAM@example.test'])).rejects.toMatchObject(TAKEN)
  }
  // Twice, as when a process dies before it has noted that a step is done.
  await client.query(`DELETE FROM knex_migrations WHERE name BETWEEN '0003' AND '0006'`)
  await migrate(database.url, migrations)
  await expect(client.query(ADD_USER, ['SAM@example.test'])).rejects.toMatchObject(TAKEN)
  await client.query(REMOVE_USER, ['sam@example.test'])
  await client.query(ADD_USER, ['sam@example.test'])
  await expect(client.query(ADD_USER, ['sam@example.test'])).rejects.toMatchObject(TAKEN)
  await client.end()
  await database.drop()
})
