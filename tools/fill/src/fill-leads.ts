import { portionsOf, type Sql } from './sql'

/** How long an account's row stays locked, and creates for it wait, is bounded by this. */
const PORTION = 50_000

// As a create does it: number, id and created_at are taken together under the lock of the account's row. The leads of a
// portion are a microsecond apart, the last of them now.
const INSERT = `
  WITH counted AS (
    UPDATE accounts SET lead_count = lead_count + $2::int,
      last_lead_at = greatest(clock_timestamp(), last_lead_at + $2::int * interval '1 microsecond')
    WHERE id = $1 RETURNING lead_count - $2::int AS before, last_lead_at - $2::int * interval '1 microsecond' AS since
  ), given AS MATERIALIZED (
    SELECT before + n AS number, nextval('leads_id_seq') AS id, nextval('customers_id_seq') AS customer_id,
      since + n * interval '1 microsecond' AS created_at
    FROM counted CROSS JOIN generate_series(1, $2::int) AS n
  ), customer AS (
    INSERT INTO customers (account_id, id, first_name, last_name, email, phone, phone_link, mobile, mobile_link,
      postcode, created_at)
    SELECT $1, customer_id, 'Ada', 'Byron ' || number, 'ada' || number || '@example.com', '020 7946 0000',
      'tel:+44-20-7946-0000', '07700 900123', 'tel:+44-7700-900123', 'SW1A 1AA', created_at
    FROM given ORDER BY number
  ), lead AS (
    INSERT INTO leads (account_id, id, number, reference, customer_id, name, value, postcode, user_agent, ip, referrer,
      device_type, device_name, browser, browser_version, os, os_version, status, test, created_at, updated_at)
    SELECT $1, id, number, gen_random_uuid(), customer_id, 'New windows, front of house ' || number, number % 10000,
      'SW1A 1AA',
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
      '192.0.2.7', 'Website', 'desktop', 'unknown', 'Chrome', '120.0.0.0', 'Linux', 'unknown', 'open', false,
      created_at, created_at
    FROM given ORDER BY number
  )
  SELECT before FROM counted`

/** Gives an account `count` leads more, without quotes and without events. */
export const fillLeads = async (leads: Sql, accountId: number, count: number): Promise<void> => {
  for (const portion of portionsOf(count, PORTION)) {
    await leads.transaction(async (rows) => {
      // The rows fit together by how they are made; a look-up for each foreign key would double the time.
      await rows('SET LOCAL session_replication_role = replica')
      const [counted] = await rows(INSERT, [accountId, portion])
      if (!counted) throw new Error(`There is no account ${accountId}.`)
    })
  }
}
