import { randomBytes } from 'node:crypto'
import type { Sql } from './sql'

/** Gives an account `count` endpoints, at `url?1`, `url?2` …; all of them have the secret. Their ids, in that order. */
export const fillEndpoints = async (
  webhooks: Sql,
  { accountId, count, url }: { accountId: number; count: number; url: string },
): Promise<{ ids: number[]; secret: string }> => {
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  const rows = await webhooks.rows<{ id: number }>(
    `INSERT INTO endpoints (account_id, url, enabled, secret)
     SELECT $1, $2 || '?' || n, true, $3 FROM generate_series(1, $4::int) AS n ORDER BY n RETURNING id`,
    [accountId, url, secret, count],
  )
  return { ids: rows.map(({ id }) => id), secret }
}
