import type { Sql } from '../stack/database'
import type { SeededAccount } from './seed-accounts'

const CHUNK = 250_000

const CUSTOMERS = `
  INSERT INTO customers (account_id, id, first_name, last_name, company_name, email, phone, phone_link, mobile,
    mobile_link, postcode, created_at)
  SELECT $1, $2 + n, 'Ada' || n, 'Byron', NULL, 'ada' || n || '@example.com', '020 7946 0000', 'tel:+44-20-7946-0000',
    '07700 900123', 'tel:+44-7700-900123', 'SW1A 1AA', now() - ($5 - n) * interval '1 second'
  FROM generate_series($3::bigint, $4::bigint) AS n`

const LEADS = `
  INSERT INTO leads (account_id, id, number, reference, customer_id, name, value, postcode, user_agent, ip, referrer,
    device_type, device_name, browser, browser_version, os, os_version, status, test, created_at, updated_at)
  SELECT $1, $2 + n, n, gen_random_uuid(), $6 + n, 'New windows, front of house ' || n, n % 10000, 'SW1A 1AA',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
    '192.0.2.7', 'Website', 'desktop', 'unknown', 'Chrome', '120.0.0.0', 'Linux', 'unknown', 'open', false,
    now() - ($5 - n) * interval '1 second', now() - ($5 - n) * interval '1 second'
  FROM generate_series($3::bigint, $4::bigint) AS n`

const COUNT = `UPDATE accounts SET lead_count = $2, last_lead_at = now() WHERE id = $1`

/** Takes `count` values of a sequence; answers with the one before the first. */
async function take(leads: Sql, sequence: string, count: number): Promise<number> {
  const [row] = await leads.rows<{ last: number }>(
    `SELECT setval('${sequence}', nextval('${sequence}') + $1::bigint) AS last`,
    [count],
  )
  return row!.last - count
}

/** Gives an account without leads `count` of them, as they would be had they been created one second apart. */
export async function seedLeads(leads: Sql, account: SeededAccount, count: number): Promise<void> {
  const lastLead = await take(leads, 'leads_id_seq', count)
  const lastCustomer = await take(leads, 'customers_id_seq', count)
  // The rows fit together by how they are made; a look-up for each foreign key would double the time.
  await leads.rows('SET session_replication_role = replica')
  for (let first = 1; first <= count; first += CHUNK) {
    const last = Math.min(first + CHUNK - 1, count)
    await leads.rows(CUSTOMERS, [account.id, lastCustomer, first, last, count])
    await leads.rows(LEADS, [account.id, lastLead, first, last, count, lastCustomer])
  }
  await leads.rows('SET session_replication_role = origin')
  await leads.rows(COUNT, [account.id, count])
}

/** References of up to `count` of an account's leads, drawn at random. */
export async function drawReferences(leads: Sql, account: SeededAccount, count: number): Promise<string[]> {
  const rows = await leads.rows<{ reference: string }>(
    `SELECT reference FROM leads WHERE account_id = $1 AND number = ANY (ARRAY(
       SELECT 1 + floor(random() * a.lead_count)::bigint FROM accounts a, generate_series(1, $2::int) WHERE a.id = $1))`,
    [account.id, count],
  )
  return rows.map(({ reference }) => reference)
}
