import type { Sql } from './sql'

/** The maximum number of views that a user may have. */
export const MAX_VIEWS = 50

const INSERT = `
  INSERT INTO views (account_id, user_id, name, filters, sort)
  SELECT u.account_id, u.id, 'View ' || n,
    jsonb_build_object('status', (ARRAY['open', 'callback_later', 'sold'])[1 + n % 3]),
    CASE WHEN n % 2 = 0 THEN '-updated_at' END
  FROM users u CROSS JOIN generate_series(1, $2::int) AS n
  WHERE u.account_id = $1 AND u.removed_at IS NULL
  ON CONFLICT DO NOTHING
  RETURNING id`

/** Adds saved views to each user of an account. Resolves with the number of added views. */
export const fillViews = async (leads: Sql, accountId: number, count: number): Promise<number> =>
  (await leads.rows(INSERT, [accountId, count])).length
