import { randomUUID } from 'node:crypto'
import { ClaimedImport, type ImportClaim, type Visitor } from '@leadwire/contracts'
import { hasEnded, requirePart, statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'

export const CLAIM = "interval '15 seconds'"

type ClaimedRow = ImportClaim & Visitor & { ignoredColumns: { name: string; did_you_mean: string | null }[] }

// Claims only the oldest import of an account, so that each account has one import in progress. If several
// accounts have imports, claims the import whose last claim ended first, so that accounts alternate. The
// imports of a suspended account wait, as its deliveries do. But an import that has ended, or is older than
// 24 hours, is claimed even if its account is suspended, because only its file must still be deleted.
const claimNext = statement<ClaimedRow>('claim-import')`
  UPDATE imports t SET claim_id = $1, claimed_until = clock_timestamp() + ${CLAIM},
    state = CASE WHEN isopen AND expired THEN 'failed' WHEN isopen THEN 'running' ELSE t.state END,
    failure = CASE WHEN isopen AND expired THEN 'The import was not finished within 24 hours of its upload. Import the rows after the last processed row (rows_read) in another file.' ELSE t.failure END,
    finished_at = CASE WHEN isopen AND expired THEN clock_timestamp() ELSE t.finished_at END
  FROM (
    SELECT account_id, id, state IN ('queued', 'running') AS isopen,
      created_at < clock_timestamp() - interval '24 hours' AS expired
    FROM imports i
    WHERE key IS NOT NULL AND ${hasEnded('claimed_until')} AND NOT EXISTS (
      SELECT 1 FROM imports o WHERE o.account_id = i.account_id AND o.key IS NOT NULL AND o.id < i.id)
      AND (finished_at IS NOT NULL OR created_at < clock_timestamp() - interval '24 hours' OR NOT EXISTS (
        SELECT 1 FROM accounts a WHERE a.id = i.account_id AND a.suspended_at IS NOT NULL))
    ORDER BY claimed_until, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
  ) next
  WHERE t.account_id = next.account_id AND t.id = next.id
  RETURNING t.account_id AS "accountId", t.id AS "importId", t.state, t.key, t.format, t.file_size AS "fileSize",
    t.position, t.rows_read AS "rowsRead", t.columns, t.delimiter, t.ignored_columns AS "ignoredColumns", t.user_agent AS "userAgent", t.ip, t.test`

const RELEASE = `
  UPDATE imports SET claim_id = NULL, claimed_until = clock_timestamp(), key = CASE WHEN $4 THEN NULL ELSE key END
  WHERE account_id = $1 AND id = $2 AND claim_id = $3`

/** Claims an open import to work on, or an ended import whose file must still be deleted. */
export const claimImport: Operation<'claimImport'> = async ({ database }) => {
  const claimId = randomUUID()
  const [row] = await claimNext(database, claimId)
  if (!row) return { import: undefined }
  const ignoredColumns = row.ignoredColumns.map(({ name, did_you_mean }) => ({
    name,
    didYouMean: did_you_mean ?? undefined,
  }))
  const claim = { ...row, claimId }
  return { import: ClaimedImport.fromPartial({ ...row, claim, visitor: row, ignoredColumns }) }
}

/** Releases a claim. If `fileDeleted` is set, the import is never claimed again. */
export const releaseImport: Operation<'releaseImport'> = async ({ database }, request) => {
  const { accountId, importId, claimId } = requirePart(request.claim, 'claim')
  await database.query({ text: RELEASE, values: [accountId, importId, claimId, request.fileDeleted] })
  return {}
}
