import { type RetrieveReconciliationRequest, RetrieveReconciliationResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { UNEXPLAINED } from './findings'

const COUNTED_AT_MOST = 10_000
const REPORTED = 100

const LAST =
  'SELECT started_at AS "startedAt", finished_at AS "finishedAt" FROM reconciliation WHERE finished_at IS NOT NULL'

const PROGRESS = `
  SELECT a.lead_count AS leads, coalesce(r.number, 0) AS "checkedLeads"
  FROM accounts a LEFT JOIN reconciled_leads r ON r.account_id = a.id WHERE a.id = $1`

const statements = (condition: string) => ({
  count: `SELECT count(*)::int AS count FROM (SELECT FROM unexplained WHERE ${condition} LIMIT ${COUNTED_AT_MOST}) u`,
  list: `SELECT ${UNEXPLAINED.columns} FROM unexplained WHERE ${condition} ORDER BY since LIMIT ${REPORTED}`,
})

const OF_ALL = statements('true')
const OF_ACCOUNT = statements('account_id = $1')

/** What the checks have come to, of an account or of all. */
export const retrieveReconciliation =
  ({ database }: { database: Database }) =>
  async ({ accountId }: RetrieveReconciliationRequest): Promise<RetrieveReconciliationResponse> => {
    validate({ account_id: accountId === undefined || isId(accountId) })
    const { count, list } = accountId === undefined ? OF_ALL : OF_ACCOUNT
    const values = accountId === undefined ? [] : [accountId]
    const [[last], [progress], [counted], unexplained] = await Promise.all([
      database.query<{ startedAt: string; finishedAt: string }>({ text: LAST }),
      accountId === undefined
        ? []
        : database.query<{ leads: number; checkedLeads: number }>({ text: PROGRESS, values }),
      database.query<{ count: number }>({ text: count, values }),
      UNEXPLAINED.query(database, { text: list, values }),
    ])
    return RetrieveReconciliationResponse.fromPartial({
      ...last,
      ...progress,
      unexplainedCount: counted!.count,
      unexplained,
    })
  }
