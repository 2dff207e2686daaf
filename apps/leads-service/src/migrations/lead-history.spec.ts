import { migrate } from '@leadwire/service-kit'
import { createDatabase } from '@leadwire/test-kit'
import { Client } from 'pg'
import { migrations } from '.'
import { leadHistory } from './0006-lead-history'

const INSERT = `
  WITH account AS (INSERT INTO accounts (name, api_key) VALUES ('Bay', $1) RETURNING id),
  customer AS (
    INSERT INTO customers (account_id, first_name, last_name, email, phone, phone_link, postcode, created_at)
    SELECT id, 'a', 'b', 'c', 'd', 'e', 'SW1A 1AA', now() FROM account RETURNING account_id, id
  )
  INSERT INTO leads (account_id, number, reference, customer_id, name, value, postcode, user_agent, ip, referrer,
    device_type, device_name, browser, browser_version, os, os_version, status, test, created_at, updated_at,
    json_format, json, json_details)
  SELECT account_id, 1, gen_random_uuid(), id, 'n', 0, 'SW1A 1AA', 'u', 'i', 'Website', '', '', '', '', '', '', 'open',
    false, now(), now(), 0, '', '' FROM customer`

test('leads of before are not written again, and the release before can go on creating', async () => {
  const database = await createDatabase({ name: 'leads' })
  await migrate(database.url, migrations.slice(0, migrations.indexOf(leadHistory)))
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const file = async () => (await client.query(`SELECT pg_relation_filenode('leads')`)).rows
  await client.query(INSERT, [`lw_key_${'k'.repeat(43)}`])
  const before = await file()
  await migrate(database.url, migrations)
  expect(await file()).toEqual(before)
  await client.query(INSERT, [`lw_key_${'l'.repeat(43)}`])
  const { rows } = await client.query('SELECT version, created_by_token_id, created_by_request_id FROM leads')
  expect(rows).toEqual(
    [1, 1].map((version) => ({ version, created_by_token_id: null, created_by_request_id: null })),
  )
  await client.end()
  await database.drop()
})
