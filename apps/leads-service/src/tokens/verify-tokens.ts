import { VerifiedToken, type VerifyTokensRequest, type VerifyTokensResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'

// last_used_at is written at most every ten seconds, and never waited for: a row another verification is writing is
// skipped.
const VERIFY = `
  WITH found AS (
    SELECT t.*, a.suspended_at IS NOT NULL AS suspended FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ANY ($1::bytea[]) AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
  ), used AS (
    UPDATE tokens SET last_used_at = clock_timestamp()
    WHERE id IN (
      SELECT t.id FROM tokens t JOIN found USING (id)
      WHERE t.last_used_at IS NULL OR t.last_used_at < clock_timestamp() - interval '10 seconds'
      FOR NO KEY UPDATE OF t SKIP LOCKED
    )
  )
  SELECT hash, name, id AS "tokenId", account_id AS "accountId", scopes, test, suspended,
    floor(extract(epoch FROM expires_at) * 1000)::float8 AS "expiresAtMs",
    expires_at AS "expiresAt"
  FROM found`

/** Verifies many tokens at once, by hash: unknown, revoked and expired ones come back empty. */
export const verifyTokens =
  (deps: { database: Database }) =>
  async ({ hashes }: VerifyTokensRequest): Promise<VerifyTokensResponse> => {
    const rows = await deps.database.query<VerifiedToken & { hash: Buffer }>({
      name: 'verify-tokens',
      text: VERIFY,
      values: [hashes],
    })
    // NULL is undefined in a message.
    const tokens = new Map(rows.map((row) => [row.hash.toString('hex'), VerifiedToken.fromPartial(row)]))
    return { results: hashes.map((hash) => ({ token: tokens.get(Buffer.from(hash).toString('hex')) })) }
  }
