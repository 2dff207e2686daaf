import { randomUUID } from 'node:crypto'
import { ClaimedImport, type ImportClaim, type Visitor } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { isId, isUuid, validate } from '../../arguments'
import type { Operation } from '../../operation'

export const CLAIM = "interval '15 seconds'"

// The oldest of each account: one import of an account is worked on at a time. Of these the one that was worked on longest ago, so
// that accounts alternate. Those of a suspended account wait, as its deliveries do.
const claim = statement<ImportClaim & Visitor>('claim-import')`
  UPDATE imports t SET claim_id = $1, claimed_until = clock_timestamp() + ${CLAIM},
    state = CASE WHEN isopen AND expired THEN 'failed' WHEN isopen THEN 'running' ELSE t.state END,
    failure = CASE WHEN isopen AND expired THEN 'The import took longer than 24 hours.' ELSE t.failure END,
    finished_at = CASE WHEN isopen AND expired THEN clock_timestamp() ELSE t.finished_at END
  FROM (
    SELECT account_id, id, state IN ('queued', 'running') AS isopen,
      created_at < clock_timestamp() - interval '24 hours' AS expired
    FROM imports i
    WHERE key IS NOT NULL AND claimed_until < clock_timestamp() AND NOT EXISTS (
      SELECT 1 FROM imports o WHERE o.account_id = i.account_id AND o.key IS NOT NULL AND o.id < i.id)
      AND (finished_at IS NOT NULL OR created_at < clock_timestamp() - interval '24 hours' OR NOT EXISTS (
        SELECT 1 FROM accounts a WHERE a.id = i.account_id AND a.suspended_at IS NOT NULL))
    ORDER BY claimed_until, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
  ) next
  WHERE t.account_id = next.account_id AND t.id = next.id
  RETURNING t.account_id AS "accountId", t.id AS "importId", t.state, t.key, t.format, t.file_size AS "fileSize",
    t.position, t.rows_read AS "rowsRead", t.columns, t.delimiter, t.user_agent AS "userAgent", t.ip, t.test`

const RELEASE = `
  UPDATE imports SET claim_id = NULL, claimed_until = clock_timestamp(), key = CASE WHEN $4 THEN NULL ELSE key END
  WHERE account_id = $1 AND id = $2 AND claim_id = $3`

export const isClaim = (claim: ImportClaim | undefined): boolean =>
  claim !== undefined && isId(claim.accountId) && isId(claim.importId) && isUuid(claim.claimId)

/** Gives the caller an import to work on, or one that has ended and whose file is left to be deleted. */
export const claimImport: Operation<'claimImport'> = async ({ database }) => {
  const claimId = randomUUID()
  const [row] = await claim(database, claimId)
  if (!row) return { import: undefined }
  return { import: ClaimedImport.fromPartial({ ...row, claim: { ...row, claimId }, visitor: row }) }
}

/** Gives a claim back. Without its file an import is claimed no more. */
export const releaseImport: Operation<'releaseImport'> = async ({ database }, request) => {
  validate({ claim: isClaim(request.claim) })
  const { accountId, importId, claimId } = request.claim!
  await database.query({ text: RELEASE, values: [accountId, importId, claimId, request.fileDeleted] })
  return {}
}
