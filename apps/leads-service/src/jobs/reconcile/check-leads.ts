import {
  type ReconcileCounts,
  type ReconcileCursor,
  type ReconcileRequest,
  Unexplained,
  type WebhooksServiceClient,
} from '@leadwire/contracts'
import { columnsOf, type Database, statement } from '@leadwire/service-kit'
import { validate } from '../../arguments'
import { keepFindings } from './unexplained'

export interface ReconcileDeps {
  database: Database
  webhooks: Pick<WebhooksServiceClient, 'check'>
}

/** Checks a batch. `after`: what it read last; undefined at the end. `findings` are to be kept. */
export type Stage = (
  deps: ReconcileDeps,
  request: ReconcileRequest & { cursor: ReconcileCursor },
) => Promise<{
  counts?: Partial<ReconcileCounts> | undefined
  findings?: Unexplained[]
  after?: string | undefined
}>

/** How many leads a batch reads, and from how many accounts at most. */
const LEADS = 500
const ACCOUNTS = 1000
/** So many leads are read in each check behind one whose event is on its way. */
const AHEAD = 10_000

const nextAccounts = statement<{ id: number; leadCount: number; reconciled: number }>(
  'accounts-to-reconcile',
)`
  SELECT a.id, a.lead_count AS "leadCount", coalesce(r.number, 0) AS reconciled
  FROM accounts a LEFT JOIN reconciled_leads r ON r.account_id = a.id
  WHERE a.id >= $1 AND a.id <= coalesce($2::bigint, a.id)
    AND NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = a.id)
  ORDER BY a.id LIMIT ${ACCOUNTS}`

// One snapshot: an event that is not in the outbox is stored by webhook-service, or lost. Numbers are given without gaps, and leads
// are never deleted. A lead whose event waits is skipped after a day: each check reads the outbox, too.
const select = statement<LeadRow>('leads-to-reconcile')`
  SELECT s.account_id AS "accountId", n.number AS "leadNumber", l.reference AS "leadReference", l.event_id AS "eventId",
    coalesce(l.created_at, (SELECT greatest(last_lead_at, created_at) FROM accounts WHERE id = s.account_id)) AS since,
    l.erased_at IS NOT NULL AS erased, l.created_at > clock_timestamp() - interval '1 day' AS young,
    EXISTS (SELECT FROM outbox WHERE event_id = l.event_id) AS waiting
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS s (account_id, after, last)
  CROSS JOIN LATERAL generate_series(s.after + 1, s.last) AS n (number)
  LEFT JOIN leads l ON l.account_id = s.account_id AND l.number = n.number
  ORDER BY s.account_id, n.number`

// Only from where the check began: another one may have come further, or this one reads behind a lead that is waited for.
const move = statement('move-reconciled')`
  INSERT INTO reconciled_leads AS r (account_id, number)
  SELECT account_id, number FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS m (account_id, before, number)
  WHERE number > before AND before = coalesce((SELECT number FROM reconciled_leads k WHERE k.account_id = m.account_id), 0)
  ORDER BY account_id
  ON CONFLICT (account_id) DO UPDATE SET number = greatest(r.number, excluded.number)`

/** The leads of an account behind `after`, up to `last`. */
interface Span {
  accountId: number
  after: number
  last: number
}

interface LeadRow {
  accountId: number
  leadNumber: number
  /** Null: there is no such lead. */
  leadReference: string | null
  eventId: string | null
  since: string
  erased: boolean
  waiting: boolean
  young: boolean
}

const DETAILS = {
  lead_missing: 'There is no lead of this number, and perhaps of those that follow.',
  event_missing: 'The event is neither in the outbox nor held by webhook-service.',
}

const findingOf = (kind: keyof typeof DETAILS) => (lead: object) =>
  Unexplained.fromPartial({ ...lead, kind, detail: DETAILS[kind] })

/**
 * Counts leads, and finds what is wrong: a lead's event must be in the outbox, stored by webhook-service, or so old that it may
 * have been removed, as those of `old` are.
 */
export const checkSpans = async ({ database, webhooks }: ReconcileDeps, spans: Span[]) => {
  const rows = await select(database, ...columnsOf(spans, 'accountId', 'after', 'last'))
  const leads = rows.filter(({ leadReference }) => leadReference !== null)
  const asked = leads.filter(({ eventId, erased, waiting }) => eventId !== null && !erased && !waiting)
  const stored = await webhooks.check({ eventIds: asked.map(({ eventId }) => eventId!) })
  const { storedEventIds, keptSince } = stored
  const missing = asked.filter(({ eventId }) => !storedEventIds.includes(eventId!))
  const isOld = ({ since }: LeadRow) => keptSince !== undefined && since < keptSince
  // Of leads that follow each other the first.
  const gaps = rows.filter(({ leadReference, leadNumber }, at) => {
    const before = rows[at - 1]
    return leadReference === null && (before?.leadReference !== null || before.leadNumber !== leadNumber - 1)
  })
  const count = (is: (lead: LeadRow) => boolean) => leads.filter(is).length
  return {
    deliveries: stored.counts,
    counts: {
      leads: leads.length,
      leadsWithoutEvent: count(({ eventId, erased }) => eventId === null && !erased),
      leadsErased: count(({ erased }) => erased),
      eventsOnTheirWay: count(({ waiting, erased }) => waiting && !erased),
      eventsHeld: storedEventIds.length,
      eventsPruned: missing.filter(isOld).length,
    },
    findings: [
      ...missing.filter((lead) => !isOld(lead)).map(findingOf('event_missing')),
      ...gaps.map(findingOf('lead_missing')),
      ...stored.findings,
    ],
    old: missing.filter(isOld).map(findingOf('event_missing')),
    waitedFor: leads.filter(({ waiting, young }) => waiting && young),
  }
}

/** Checks the next leads, those behind what was reconciled of their account, or all, and stores what is unexplained. */
export const checkLeads: Stage = async (deps, { accountId, full, cursor }) => {
  const { database } = deps
  const [afterId = 0, afterNumber = 0] = cursor.after.split(' ').map(Number)
  validate({ cursor: [afterId, afterNumber].every(Number.isSafeInteger) })
  const accounts = await nextAccounts(database, Math.max(accountId ?? 0, afterId), accountId ?? null)
  const spans: Span[] = []
  let left = LEADS
  for (const { id, leadCount, reconciled } of accounts) {
    const after = id === afterId ? afterNumber : full ? 0 : reconciled
    const end = full ? leadCount : Math.min(leadCount, reconciled + AHEAD)
    const last = Math.max(after, Math.min(end, after + left))
    spans.push({ accountId: id, after, last })
    left -= last - after
    if (left === 0) break
  }
  const { deliveries, counts, findings, waitedFor } = await checkSpans(deps, spans)
  await keepFindings(database, findings)
  const reached = spans.map((span) => {
    const first = waitedFor.find((lead) => lead.accountId === span.accountId)
    return first ? first.leadNumber - 1 : span.last
  })
  await move(database, ...columnsOf(spans, 'accountId', 'after'), reached)
  const end = spans.at(-1)
  const isEnd = left > 0 && accounts.length < ACCOUNTS
  return {
    // With --full deliveries are counted with the events that they belong to, of all kinds.
    counts: full ? counts : { ...deliveries, ...counts },
    after: isEnd || !end ? undefined : `${end.accountId} ${end.last}`,
  }
}
