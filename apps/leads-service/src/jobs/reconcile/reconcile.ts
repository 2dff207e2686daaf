import {
  ReconcileCounts,
  type ReconcileCursor,
  type ReconcileRequest,
  type ReconcileResponse,
  type Unexplained,
} from '@leadwire/contracts'
import { hasEnded, requirePart, statement } from '@leadwire/service-kit'
import { databaseTime } from '../elsewhere'
import { checkLeads, checkSpans, type ReconcileDeps, type Stage } from './check-leads'
import { buildFindingKey, keepFindings, parseFindings } from './unexplained'

/**
 * A waiting event becomes a finding at this age, in seconds. By then webhook-service has normally stored the
 * event, even if the first check of the outbox, after ten seconds, had to publish the event again.
 */
const GRACE_S = 30
/** The maximum number of events that each part of `overdueEvents` reports. */
const REPORTED = 1000
const RECHECKED = 500

const stored =
  (what: 'events' | 'deliveries', notifications: boolean): Stage =>
  async ({ webhooks }, { accountId, full, cursor: { after } }) =>
    what === 'events' && !full ? {} : webhooks.check({ next: { what, notifications, accountId, after } })

// Returns the SQL of one part of `overdueEvents`. Each part reads an index in the order of the index, oldest
// first.
const overdue = (state: string, order: string) => `
  (SELECT 'event_waiting' AS kind, account_id AS "accountId", lead_reference AS "leadReference", event_id AS "eventId",
    created_at AS since, CASE
      WHEN refusal IS NOT NULL THEN 'webhook-service refused the event: ' || refusal
      WHEN next_check_at IS NULL THEN 'The event waits until the other events of its lead are erased.'
      ELSE 'The event is in the outbox, but webhook-service has not stored it.' END AS detail
  FROM outbox
  WHERE ${state} AND created_at < clock_timestamp() - interval '${GRACE_S} seconds' AND account_id = coalesce($1, account_id)
  ORDER BY ${order} LIMIT ${REPORTED})`

// The first part finds events whose first check is overdue. The first check is due ten seconds after the
// event's creation, so the check of an event that is GRACE_S old is overdue by GRACE_S - 10. If two parts
// find the same event, UNION keeps one row.
const overdueEvents = statement<Unexplained & { eventId: string }>('overdue-events')`
  ${overdue(`next_check_at < now() - interval '${GRACE_S - 10} seconds'`, 'next_check_at')}
  UNION ${overdue('publish_count > 1', 'created_at')}
  UNION ${overdue('next_check_at IS NULL', 'created_at')}`

// Asks webhook-service which events it has stored, because a stored event stays in the outbox until its next
// check.
const outbox: Stage = async ({ database, webhooks }, { accountId }) => {
  const overdueRows = await overdueEvents(database, accountId ?? null)
  const { storedEventIds } = await webhooks.check({ eventIds: overdueRows.map(({ eventId }) => eventId) })
  const stored = new Set(storedEventIds)
  return { findings: overdueRows.filter(({ eventId }) => !stored.has(eventId)) }
}

const select = statement<{ finding: string }>('findings-to-check')`
  SELECT finding FROM unexplained WHERE checked_at < $1 AND account_id = coalesce($2, account_id)
  ORDER BY checked_at LIMIT ${RECHECKED}`

const DELETE_RESOLVED = 'DELETE FROM unexplained WHERE key = ANY ($1::text[]) AND checked_at < $2'

const FINISH = `
  UPDATE reconciliation SET started_at = $1, finished_at = clock_timestamp(), claimed_until = clock_timestamp()`

/**
 * Reads the stored findings that the earlier stages of this check have not found again, and deletes the
 * findings that no longer hold. Findings about leads and their events may be outside the range of the earlier
 * stages, so this stage checks these leads and events again, at any age. All other findings no longer hold,
 * because the earlier stages would have found them again.
 */
const recheck: Stage = async (deps, { accountId, cursor: { startedAt } }) => {
  const { database, webhooks } = deps
  const known = parseFindings(await select(database, startedAt, accountId ?? null))
  const spans = known.flatMap(({ kind, accountId: id, leadNumber }) =>
    kind === 'lead_missing' || kind === 'event_missing'
      ? [{ accountId: id, after: leadNumber! - 1, last: leadNumber! }]
      : [],
  )
  const eventIds = known.flatMap(({ kind, eventId }) => (kind === 'deliveries_missing' ? eventId! : []))
  const [checkedLeads, checkedEvents] = await Promise.all([
    checkSpans(deps, spans),
    webhooks.check({ eventIds }),
  ])
  const found = new Set(
    [...checkedLeads.findings, ...checkedLeads.old, ...checkedEvents.findings].map(buildFindingKey),
  )
  await keepFindings(
    database,
    known.filter((finding) => found.has(buildFindingKey(finding))),
  )
  await database.query({ text: DELETE_RESOLVED, values: [known.map(buildFindingKey), startedAt] })
  if (known.length === RECHECKED) return { after: 'more' }
  if (accountId === undefined) await database.query({ text: FINISH, values: [startedAt] })
  return {}
}

const STAGES: Record<string, Stage> = {
  leads: checkLeads,
  events: stored('events', false),
  notification_events: stored('events', true),
  deliveries: stored('deliveries', false),
  notification_deliveries: stored('deliveries', true),
  outbox,
  recheck,
}
const NAMES = Object.keys(STAGES)

/**
 * Checks a batch, and stores the findings. The caller passes the cursor of each response in the next call.
 * The check is finished when a response has no cursor. Throws `unavailable` while webhook-service is
 * unavailable.
 */
export const reconcile = async (
  deps: ReconcileDeps,
  { accountId, full, cursor: given }: ReconcileRequest,
): Promise<ReconcileResponse> => {
  const begin = async () => ({ startedAt: await databaseTime(deps.database), stage: NAMES[0]!, after: '' })
  const cursor = given ?? (await begin())
  const check = requirePart(STAGES[cursor.stage], 'known stage')
  const { counts, findings = [], after } = await check(deps, { accountId, full, cursor })
  await keepFindings(deps.database, findings)
  const stage = after === undefined ? NAMES[NAMES.indexOf(cursor.stage) + 1] : cursor.stage
  return {
    counts: ReconcileCounts.fromPartial(counts ?? {}),
    cursor: stage === undefined ? undefined : { ...cursor, stage, after: after ?? '' },
  }
}

// The claim is a lease of 30 seconds: if a process dies during a check, another process then starts a new
// check. Two checks at once do no harm.
const RENEW = `UPDATE reconciliation SET claimed_until = clock_timestamp() + interval '30 seconds'`

const renew = statement('renew-reconciliation')`${RENEW}`

const claim = statement('claim-reconciliation')`${RENEW}
  WHERE ${hasEnded('claimed_until')}
    AND coalesce(started_at, '-infinity') NOT BETWEEN clock_timestamp() - $1::bigint * interval '1 ms' AND clock_timestamp()
  RETURNING 1`

/**
 * Checks the new leads of all accounts if `intervalMs` has passed since the start of the last check, and if
 * no other copy is checking. Resolves at the end of the check, or soon after `signal` is aborted.
 */
export const reconcileInTurn = async (
  deps: ReconcileDeps,
  { intervalMs, signal }: { intervalMs: number; signal: AbortSignal },
): Promise<boolean> => {
  const { database } = deps
  if ((await claim(database, intervalMs)).length === 0) return false
  let cursor: ReconcileCursor | undefined
  do {
    cursor = (await reconcile(deps, { full: false, accountId: undefined, cursor })).cursor
    if (cursor) await renew(database)
  } while (cursor && !signal.aborted)
  return false
}
