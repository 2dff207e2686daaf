import { type Database, statement } from '@leadwire/service-kit'

/** The maximum number of rows, and of accounts, that one statement reads. */
const READ = 1000
/** The maximum number of accounts whose events one transaction records. */
const ACCOUNTS = 100

// Reads the start of the index due_events_by_due_at.
const selectOldest = statement<{ accountId: number }>('oldest-due-events')`
  SELECT account_id AS "accountId" FROM due_events WHERE due_at <= $1 ORDER BY due_at LIMIT ${READ}`

const NEXT_ACCOUNT = 'ORDER BY account_id, due_at LIMIT 1'

// Reads only the first row of each account in the index due_events_of_account, however many rows the account
// has.
const walkAccounts = statement<{ accountId: number; isDue: boolean }>('walk-accounts-with-due-events')`
  WITH RECURSIVE walked AS (
    (SELECT account_id, due_at FROM due_events WHERE account_id > $1 ${NEXT_ACCOUNT})
    UNION ALL
    SELECT next.account_id, next.due_at FROM walked w CROSS JOIN LATERAL (
      SELECT account_id, due_at FROM due_events WHERE account_id > w.account_id ${NEXT_ACCOUNT}
    ) next
  )
  SELECT account_id AS "accountId", due_at <= $2 AS "isDue" FROM walked LIMIT ${READ}`

interface DueAccounts {
  accountIds: number[]
  /** The account after which the next search starts. 0 if all accounts with due events were found. */
  after: number
}

/**
 * Finds accounts with events that are due at `now`. If few events are due, finds the accounts of the oldest
 * ones. If many are due, they might all belong to one account, which would delay the others. The search then
 * walks over the accounts that follow `after`.
 */
export const findDueAccounts = async (
  database: Database,
  { now, after }: { now: string; after: number },
): Promise<DueAccounts> => {
  const oldest = await selectOldest(database, now)
  if (oldest.length < READ) {
    const accountIds = [...new Set(oldest.map(({ accountId }) => accountId))]
    return { accountIds: accountIds.slice(0, ACCOUNTS), after: 0 }
  }
  const walked = await walkAccounts(database, after, now)
  const due = walked.filter(({ isDue }) => isDue)
  const accountIds = due.slice(0, ACCOUNTS).map(({ accountId }) => accountId)
  if (due.length > ACCOUNTS) return { accountIds, after: accountIds.at(-1)! }
  return { accountIds, after: walked.length < READ ? 0 : walked.at(-1)!.accountId }
}
