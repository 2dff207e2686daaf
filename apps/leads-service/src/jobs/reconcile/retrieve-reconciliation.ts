import { type RetrieveReconciliationRequest, RetrieveReconciliationResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { findingsOf } from './unexplained'

const COUNTED_AT_MOST = 10_000
const REPORTED = 100

const selectText = (condition: string) => `
  SELECT CASE WHEN finished_at IS NOT NULL THEN started_at END AS "startedAt", finished_at AS "finishedAt",
    (SELECT lead_count FROM accounts WHERE id = $1) AS leads,
    (SELECT number FROM reconciled_leads WHERE account_id = $1) AS "checkedLeads",
    (SELECT count(*)::int FROM (
      SELECT FROM unexplained WHERE ${condition} LIMIT ${COUNTED_AT_MOST}) u) AS "unexplainedCount"
  FROM reconciliation`

const listText = (condition: string) => `
  SELECT finding FROM unexplained WHERE ${condition} ORDER BY since LIMIT ${REPORTED}`

/** What the checks have come to, of an account or of all. */
export const retrieveReconciliation =
  ({ database }: { database: Database }) =>
  async ({ accountId }: RetrieveReconciliationRequest): Promise<RetrieveReconciliationResponse> => {
    validate({ account_id: accountId === undefined || isId(accountId) })
    const values = [accountId ?? null]
    const condition = accountId === undefined ? '$1::bigint IS NULL' : 'account_id = $1'
    const [[found], rows] = await Promise.all([
      database.query({ text: selectText(condition), values }),
      database.query<{ finding: string }>({ text: listText(condition), values }),
    ])
    return RetrieveReconciliationResponse.fromPartial({ ...found, unexplained: findingsOf(rows) })
  }
