import type { Unexplained } from '@leadwire/contracts'
import { keepFindings, keyOf, UNEXPLAINED } from './findings'
import type { ReconcileDeps } from './reconcile-deps'

/** Findings in one recheck. */
const BATCH = 500

// Each check finds these kinds anew: those it did not find are resolved.
const DELETE_RESOLVED = `
  DELETE FROM unexplained WHERE checked_at < $1 AND account_id = coalesce($2, account_id)
    AND kind IN ('event_waiting', 'delivery_overdue', 'delivery_beyond_schedule', 'delivery_held')`

const SELECT = `
  SELECT ${UNEXPLAINED.columns} FROM unexplained WHERE checked_at < $1 AND account_id = coalesce($2, account_id)
    AND kind IN ('lead_missing', 'event_missing', 'deliveries_missing')
  ORDER BY checked_at LIMIT ${BATCH}`

const DELETE = 'DELETE FROM unexplained WHERE key = ANY ($1::text[])'

const FIND_NUMBERS = `
  SELECT l.account_id AS "accountId", l.number FROM unnest($1::bigint[], $2::bigint[]) AS m (account_id, number)
  JOIN leads l ON l.account_id = m.account_id AND l.number = m.number`

// Of leads that were erased since, and of accounts that are deleted, nothing is to be explained.
const STILL_THERE = `
  SELECT l.reference FROM leads l WHERE l.reference = ANY ($1::uuid[]) AND l.erased_at IS NULL
    AND NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = l.account_id)`

/** Which of the missing leads are there again. */
const foundNumbers = async ({ database }: ReconcileDeps, findings: Unexplained[]) => {
  const missing = findings.filter(({ kind }) => kind === 'lead_missing')
  const values = [missing.map(({ accountId }) => accountId), missing.map(({ leadNumber }) => leadNumber)]
  const rows = await database.query<{ accountId: number; number: number }>({ text: FIND_NUMBERS, values })
  return new Set(rows.map(({ accountId, number }) => `${accountId} ${number}`))
}

/** Says of each finding whether it is still so. */
const check = async (deps: ReconcileDeps, findings: Unexplained[]) => {
  const eventIds = findings.flatMap(({ eventId }) => eventId ?? [])
  const references = findings.flatMap(({ kind, leadReference }) =>
    kind === 'event_missing' ? (leadReference ?? []) : [],
  )
  const [{ storedEventIds, violations }, found, leads] = await Promise.all([
    deps.webhooks.checkEvents({ eventIds }),
    foundNumbers(deps, findings),
    deps.database.query<{ reference: string }>({ text: STILL_THERE, values: [references] }),
  ])
  const held = new Set(storedEventIds)
  const invalid = new Set(violations.map(({ eventId }) => eventId))
  const there = new Set(leads.map(({ reference }) => reference))
  return ({ kind, accountId, leadNumber, leadReference, eventId }: Unexplained): boolean => {
    if (kind === 'lead_missing') return !found.has(`${accountId} ${leadNumber}`)
    if (kind === 'event_missing') return there.has(leadReference!) && !held.has(eventId!)
    return invalid.has(eventId!)
  }
}

/**
 * Checks findings from before `startedAt` again and deletes those that are resolved. Resolves with whether there may be more.
 */
export const recheckFindings = async (
  deps: ReconcileDeps,
  { startedAt, accountId }: { startedAt: string; accountId: number | undefined },
): Promise<boolean> => {
  const { database } = deps
  const values = [startedAt, accountId ?? null]
  await database.query({ name: 'delete-findings', text: DELETE_RESOLVED, values })
  const findings = await UNEXPLAINED.query(database, { name: 'findings-to-check', text: SELECT, values })
  if (findings.length === 0) return false
  const isStillSo = await check(deps, findings)
  const resolved = findings.filter((finding) => !isStillSo(finding))
  await database.transaction(async (tx) => {
    keepFindings(tx, findings.filter(isStillSo))
    tx.send({ text: DELETE, values: [resolved.map(keyOf)] })
  })
  return findings.length === BATCH
}
