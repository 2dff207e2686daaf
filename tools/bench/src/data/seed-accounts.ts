import { randomUUID } from 'node:crypto'
import type { Sql } from '../stack/database'

export type SeededAccount = { id: number; apiKey: string; token: string }

/** Makes accounts, each with a token of the scopes leads and manage. */
export async function seedAccounts(leads: Sql, count: number): Promise<SeededAccount[]> {
  const marks = Array.from({ length: count }, () => randomUUID().replaceAll('-', ''))
  const rows = await leads.rows<{ id: number; api_key: string; token: string }>(
    `WITH given AS (
       SELECT mark, 'lw_key_' || rpad(mark, 43, '0') AS api_key, 'lw_live_' || mark AS token FROM unnest($1::text[]) AS mark
     ), account AS (
       INSERT INTO accounts (name, api_key) SELECT 'Bench', api_key FROM given RETURNING id, api_key
     ), token AS (
       INSERT INTO tokens (account_id, name, hash, scopes)
       SELECT a.id, 'bench', sha256(convert_to(g.token, 'UTF8')), ARRAY['leads', 'manage']
       FROM account a JOIN given g USING (api_key)
     )
     SELECT a.id, a.api_key, g.token FROM account a JOIN given g USING (api_key) ORDER BY a.id`,
    [marks],
  )
  return rows.map(({ id, api_key, token }) => ({ id, apiKey: api_key, token }))
}
