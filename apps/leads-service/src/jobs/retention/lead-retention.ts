import type { LeadRetention } from '@leadwire/contracts'
import {
  type OpenTransaction,
  recordAudit,
  requirePart,
  statement,
  type Transaction,
} from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { HAS_AGED, IS_TO_BE_ERASED } from './old-leads'

/** The maximum number of leads that a count reads. It starts with the leads that changed longest ago. */
const READ_LIMIT = 10_000

const select = statement<{ statuses: string[]; months: number }>('select-lead-retention')`
  SELECT statuses, months FROM lead_retention WHERE account_id = $1`

const lock = statement<{ statuses: string[]; months: number }>('lock-lead-retention')`
  SELECT statuses, months FROM lead_retention WHERE account_id = $1 FOR UPDATE`

// Starts a new pass, because the last pass has skipped leads that a changed rule applies to. The pass starts
// within a minute. If it started at once, an account that repeats the request would erase more than 100 leads
// in a minute.
const upsert = statement('set-lead-retention')`
  INSERT INTO lead_retention (account_id, statuses, months) VALUES ($1, $2, $3)
  ON CONFLICT (account_id) DO UPDATE SET statuses = excluded.statuses, months = excluded.months,
    read_until = NULL, read_number = NULL, due_at = least(lead_retention.due_at, clock_timestamp() + interval '1 minute')`

const remove = statement('end-lead-retention')`
  DELETE FROM lead_retention WHERE account_id = $1`

// Reads the index leads_by_updated_at from its start.
const count = statement<{ matched: number; capped: boolean }>('count-old-leads')`
  SELECT (count(*) FILTER (WHERE place <= ${READ_LIMIT} AND matches))::int AS matched,
    count(*) > ${READ_LIMIT} AS capped
  FROM (
    SELECT row_number() OVER (ORDER BY l.updated_at, l.number) AS place, ${IS_TO_BE_ERASED} AS matches
    FROM leads l WHERE l.account_id = $1 AND ${HAS_AGED}
    ORDER BY l.updated_at, l.number LIMIT ${READ_LIMIT + 1}
  ) read`

const findRetention = async (db: Transaction, accountId: number): Promise<LeadRetention | undefined> => {
  const [row] = await select(db, accountId)
  return row
}

export const retrieveLeadRetention: Operation<'retrieveLeadRetention'> = async (
  { database },
  { accountId },
) => ({ retention: await findRetention(database, accountId) })

/** Records a changed rule in the audit log. Records nothing if the rule stays the same. */
const recordRetention = (
  tx: OpenTransaction,
  actor: Parameters<typeof recordAudit>[1],
  accountId: number,
  rules: { from: LeadRetention | null; to: LeadRetention | null },
): void => {
  if (JSON.stringify(rules.from) === JSON.stringify(rules.to)) return
  const changes = { lead_retention: rules }
  recordAudit(tx, actor, { accountId, action: 'account.updated', targetId: accountId, changes })
}

/**
 * Replaces the rule of an account, unless it is a dry run. Resolves with the number of leads that the rule
 * applies to now.
 */
export const setLeadRetention: Operation<'setLeadRetention'> = async ({ database, actor }, request) => {
  const { accountId, dryRun } = request
  const { statuses, months } = requirePart(request.retention, 'retention')
  if (!dryRun)
    await database.transaction(async (tx) => {
      const [before = null] = await lock(tx, accountId)
      upsert.send(tx, accountId, statuses, months)
      recordRetention(tx, actor, accountId, { from: before, to: { statuses, months } })
    })
  const [counted] = await count(database, accountId, statuses, months)
  return counted!
}

export const endLeadRetention: Operation<'endLeadRetention'> = async ({ database, actor }, { accountId }) =>
  database.transaction(async (tx) => {
    const [before = null] = await lock(tx, accountId)
    remove.send(tx, accountId)
    recordRetention(tx, actor, accountId, { from: before, to: null })
    return {}
  })
