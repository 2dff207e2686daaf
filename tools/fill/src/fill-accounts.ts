import { randomBytes } from 'node:crypto'
import type { Sql } from './sql'

export interface FilledAccount {
  id: number
  api_key: string
  token: string
}

/** Creates accounts, each with a token that has the scopes leads and manage. */
export const fillAccounts = (leads: Sql, count: number): Promise<FilledAccount[]> =>
  leads.rows<FilledAccount>(
    `WITH given AS (
       SELECT 'lw_key_' || random AS api_key, 'lw_live_' || random AS token FROM unnest($1::text[]) AS random
     ), account AS (
       INSERT INTO accounts (name, api_key) SELECT 'Filled', api_key FROM given RETURNING id, api_key
     ), token AS (
       INSERT INTO tokens (account_id, name, hash, scopes)
       SELECT a.id, 'fill', sha256(convert_to(g.token, 'UTF8')), ARRAY['leads', 'manage']
       FROM account a JOIN given g USING (api_key)
     )
     SELECT a.id, a.api_key, g.token FROM account a JOIN given g USING (api_key) ORDER BY a.id`,
    [Array.from({ length: count }, () => randomBytes(32).toString('base64url'))],
  )
