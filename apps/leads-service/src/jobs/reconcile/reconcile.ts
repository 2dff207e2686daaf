import {
  ReconcileCounts,
  type ReconcileCursor,
  type ReconcileRequest,
  type ReconcileResponse,
  type Unexplained,
} from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { isId, isInstant, isOptional, validate } from '../../arguments'
import { databaseTime } from '../elsewhere'
import { checkLeads, checkSpans, type ReconcileDeps, type Stage } from './check-leads'
import { findingsOf, keepFindings, keyOf } from './unexplained'

/** Publishing, storing and the sweep take seconds, also when an event is published again. */
const GRACE_S = 30
/** The most events reported in each of the two states. */
const REPORTED = 1000
const RECHECKED = 500

const stored =
  (what: 'events' | 'deliveries', notifications: boolean): Stage =>
  async ({ webhooks }, { accountId, full, cursor: { after } }) =>
    what === 'events' && !full ? {} : webhooks.check({ next: { what, notifications, accountId, after } })

// Each in the order of its index, oldest first.
const overdue = (state: string, order: string) => `
  (SELECT 'event_waiting' AS kind, account_id AS "accountId", lead_reference AS "leadReference", event_id AS "eventId",
    created_at AS since, CASE
      WHEN refusal IS NOT NULL THEN 'The event was refused: ' || refusal
      WHEN sequence IS NOT NULL THEN 'The event is published, and webhook-service does not hold it.'
      ELSE 'The event is in the outbox and not published.' END AS detail
  FROM outbox
  WHERE ${state} AND created_at < clock_timestamp() - interval '${GRACE_S} seconds' AND account_id = coalesce($1, account_id)
  ORDER BY ${order} LIMIT ${REPORTED})`

const overdueEvents = statement<Unexplained>('overdue-events')`
  ${overdue('published_at IS NULL', 'created_at')} UNION ALL ${overdue('published_at IS NOT NULL', 'published_at')}`

const outbox: Stage = async ({ database }, { accountId }) => ({
  findings: await overdueEvents(database, accountId ?? null),
})

const select = statement<{ finding: string }>('findings-to-check')`
  SELECT finding FROM unexplained WHERE checked_at < $1 AND account_id = coalesce($2, account_id)
  ORDER BY checked_at LIMIT ${RECHECKED}`

const DELETE_RESOLVED = 'DELETE FROM unexplained WHERE key = ANY ($1::text[]) AND checked_at < $2'

const FINISH = `
  UPDATE reconciliation SET started_at = $1, finished_at = clock_timestamp(), claimed_until = clock_timestamp()`

/**
 * Deletes the findings from before the check that are no more so. What is wrong with leads and their events stays so behind where the
 * check began: it is checked again, however old it is by now. All else was found anew.
 */
const recheck: Stage = async (deps, { accountId, cursor: { startedAt } }) => {
  const { database, webhooks } = deps
  const known = findingsOf(await select(database, startedAt, accountId ?? null))
  const spans = known.flatMap(({ kind, accountId: id, leadNumber }) =>
    kind === 'lead_missing' || kind === 'event_missing'
      ? [{ accountId: id, after: leadNumber! - 1, last: leadNumber! }]
      : [],
  )
  const eventIds = known.flatMap(({ kind, eventId }) => (kind === 'deliveries_missing' ? eventId! : []))
  const [ofLeads, ofEvents] = await Promise.all([checkSpans(deps, spans), webhooks.check({ eventIds })])
  const found = new Set([...ofLeads.findings, ...ofLeads.old, ...ofEvents.findings].map(keyOf))
  await keepFindings(
    database,
    known.filter((finding) => found.has(keyOf(finding))),
  )
  await database.query({ text: DELETE_RESOLVED, values: [known.map(keyOf), startedAt] })
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
 * Checks a batch and stores what is unexplained. The next call passes the cursor of the response; without a cursor the check is
 * finished. Throws invalid, and unavailable while webhook-service is unavailable.
 */
export const reconcile = async (
  deps: ReconcileDeps,
  { accountId, full, cursor: given }: ReconcileRequest,
): Promise<ReconcileResponse> => {
  const begin = async () => ({ startedAt: await databaseTime(deps.database), stage: NAMES[0]!, after: '' })
  const cursor = given ?? (await begin())
  const at = NAMES.indexOf(cursor.stage)
  validate({
    account_id: isOptional(accountId, isId),
    cursor: at >= 0 && isInstant(cursor.startedAt),
  })
  const { counts, findings = [], after } = await STAGES[cursor.stage]!(deps, { accountId, full, cursor })
  await keepFindings(deps.database, findings)
  const stage = after === undefined ? NAMES[at + 1] : cursor.stage
  return {
    counts: ReconcileCounts.fromPartial(counts ?? {}),
    cursor: stage === undefined ? undefined : { ...cursor, stage, after: after ?? '' },
  }
}

// A lease: when a process dies during a check, another starts one. Two checks at once do no harm.
const RENEW = `UPDATE reconciliation SET claimed_until = clock_timestamp() + interval '30 seconds'`

const renew = statement('renew-reconciliation')`${RENEW}`

const claim = statement('claim-reconciliation')`${RENEW}
  WHERE claimed_until <= clock_timestamp()
    AND coalesce(started_at, '-infinity') <= clock_timestamp() - $1::bigint * interval '1 ms'
  RETURNING 1`

/**
 * Checks the new leads of all accounts when the interval is over and no other copy is checking. Resolves at the end of the check, or soon after
 * `signal` is aborted.
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
