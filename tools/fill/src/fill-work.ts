import type { Sql } from './sql'

const INSERT_USER = `
  INSERT INTO users (account_id, email, name)
  SELECT $1, 'grace@example.com', 'Grace Hopper'
  WHERE NOT EXISTS (SELECT FROM users WHERE account_id = $1 AND removed_at IS NULL)`

const SELECT_USERS = `
  SELECT id FROM users WHERE account_id = $1 AND removed_at IS NULL ORDER BY id LIMIT 100`

const FILLED_LEADS = 'account_id = $1 AND number > $2::int AND number <= $2::int + $3::int'

/**
 * Returns SQL that gives every `nth` lead an entry within a week before or after now. The times differ
 * between leads. Most entries in the past are done.
 */
const insertEntries = (table: 'appointments' | 'callbacks', nth: number) => `
  INSERT INTO ${table} (account_id, lead_id, user_id, date, notify, invitation_id, done_at)
  SELECT $1, id, ($4::bigint[])[(1 + number % cardinality($4::bigint[]))::int], date, false, gen_random_uuid(),
    CASE WHEN date < clock_timestamp() AND number % 5 > 0 THEN clock_timestamp() END
  FROM (
    SELECT id, number, date_trunc('hour', clock_timestamp())
      + (number * 7919 % 2016 - 1008) * interval '10 minutes' AS date
    FROM leads WHERE ${FILLED_LEADS} AND number % ${nth} = 0
  ) l ORDER BY number`

const INSERT_NOTES = `
  INSERT INTO notes (account_id, lead_id, text, user_id)
  SELECT $1, id, 'Called about lead ' || number || ': wants a quote for the front of the house.',
    ($4::bigint[])[(1 + number % cardinality($4::bigint[]))::int]
  FROM leads WHERE ${FILLED_LEADS} AND number % 2 = 0 ORDER BY number`

/**
 * Adds notes, callbacks and appointments to the leads with the numbers after `before`, for the users of the
 * account. Adds a user if the account has none. Must run in the transaction that adds the leads, so that
 * their search terms and figures include these records.
 */
export const fillWork = async (
  rows: Sql['rows'],
  accountId: number,
  { before, count }: { before: number; count: number },
): Promise<void> => {
  await rows(INSERT_USER, [accountId])
  const users = await rows<{ id: number }>(SELECT_USERS, [accountId])
  const values = [accountId, before, count, users.map(({ id }) => id)]
  for (const text of [insertEntries('callbacks', 3), insertEntries('appointments', 4), INSERT_NOTES])
    await rows(text, values)
}
