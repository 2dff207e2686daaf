import { RetrieveReconciliationResponse, Unexplained } from '@leadwire/contracts'
import { statement, type Transaction } from '@leadwire/service-kit'
import type { Operation } from '../../operation'

const COUNTED_AT_MOST = 10_000
const REPORTED = 100

// Inserts in the order of the keys, so that two checks never deadlock. Ignores findings of accounts that are
// being deleted.
const keep = statement('keep-findings')`
  INSERT INTO unexplained (key, account_id, since, finding)
  SELECT DISTINCT ON (key) key, (f ->> 'accountId')::bigint, (f ->> 'since')::timestamptz, f
  FROM unnest($1::text[], $2::json[]) AS found (key, f)
  WHERE NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = (f ->> 'accountId')::bigint)
  ORDER BY key
  ON CONFLICT (key) DO UPDATE SET checked_at = clock_timestamp(), finding = excluded.finding`

export const buildFindingKey = ({ kind, accountId, leadNumber, eventId, deliveryId }: Unexplained): string =>
  [kind, accountId, deliveryId ?? eventId ?? leadNumber].join(' ')

/** Stores findings. A finding that is stored already is marked as found again. */
export const keepFindings = async (db: Transaction, findings: Unexplained[]): Promise<void> => {
  if (findings.length === 0) return
  const texts = findings.map((finding) => JSON.stringify(finding))
  await keep(db, findings.map(buildFindingKey), texts)
}

export const parseFindings = (rows: { finding: string }[]): Unexplained[] =>
  rows.map(({ finding }) => Unexplained.fromPartial(JSON.parse(finding)))

const selectText = (condition: string) => `
  SELECT CASE WHEN finished_at IS NOT NULL THEN started_at END AS "startedAt", finished_at AS "finishedAt",
    (SELECT lead_count FROM accounts WHERE id = $1) AS leads,
    (SELECT number FROM reconciled_leads WHERE account_id = $1) AS "checkedLeads",
    (SELECT count(*)::int FROM (
      SELECT FROM unexplained WHERE ${condition} LIMIT ${COUNTED_AT_MOST}) u) AS "unexplainedCount"
  FROM reconciliation`

export const retrieveReconciliation: Operation<'retrieveReconciliation'> = async (deps, { accountId }) => {
  const values = [accountId ?? null]
  const condition = accountId === undefined ? '$1::bigint IS NULL' : 'account_id = $1'
  const list = `SELECT finding FROM unexplained WHERE ${condition} ORDER BY since LIMIT ${REPORTED}`
  const [[found], rows] = await Promise.all([
    deps.database.query({ text: selectText(condition), values }),
    deps.database.query<{ finding: string }>({ text: list, values }),
  ])
  return RetrieveReconciliationResponse.fromPartial({ ...found, unexplained: parseFindings(rows) })
}
