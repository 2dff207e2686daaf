import {
  type ReconcileCounts,
  type ReconcileCursor,
  type ReconcileRequest,
  Unexplained,
  type WebhooksServiceClient,
} from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { keepFindings } from './unexplained'

export interface ReconcileDeps {
  database: Database
  webhooks: Pick<WebhooksServiceClient, 'checkEvents' | 'checkDeliveries'>
}

/** How many leads a batch reads, and from how many accounts at most. */
const LEADS = 500
const ACCOUNTS = 1000
/** So many leads are read in each check behind one whose event is on its way. */
const AHEAD = 10_000
/** A lead whose event is still in the outbox after so long is skipped: each check reads the outbox, too. */
const WAITED_FOR_MS = 24 * 3_600_000

const NEXT_ACCOUNTS = `
  SELECT a.id, a.lead_count AS "leadCount", nullif(a.last_lead_at, '-infinity') AS since, coalesce(r.number, 0) AS reconciled
  FROM accounts a LEFT JOIN reconciled_leads r ON r.account_id = a.id
  WHERE a.id >= $1 AND a.id <= coalesce($2::bigint, a.id)
    AND NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = a.id)
  ORDER BY a.id LIMIT ${ACCOUNTS}`

// One snapshot: an event that is not in the outbox is stored by webhook-service, or lost.
const SELECT = `
  SELECT s.account_id AS "accountId", l.number, l.reference, l.event_id AS "eventId", l.created_at AS "createdAt",
    l.erased_at IS NOT NULL AS erased, o.event_id IS NOT NULL AS waiting
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS s (account_id, after, last) CROSS JOIN LATERAL (
    SELECT number, reference, event_id, created_at, erased_at FROM leads
    WHERE account_id = s.account_id AND number > s.after AND number <= s.last ORDER BY number
  ) l LEFT JOIN outbox o ON o.event_id = l.event_id
  ORDER BY s.account_id, l.number`

// Only from where the check began: another one may have come further, or this one reads behind a lead that is waited for.
const MOVE = `
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
  /** When the last of them was created, where it is not there to say so. */
  since: string
}

interface LeadRow {
  accountId: number
  number: number
  reference: string
  eventId: string | null
  createdAt: string
  erased: boolean
  waiting: boolean
}

type Place = Pick<ReconcileCursor, 'afterId' | 'afterNumber'>
type Scope = Pick<ReconcileRequest, 'accountId' | 'full'>

/** The next leads, and the place behind them; undefined at the end. */
const nextSpans = async (
  { database }: ReconcileDeps,
  { afterId, afterNumber }: Place,
  { accountId, full }: Scope,
): Promise<{ spans: Span[]; next: Place | undefined }> => {
  const rows = await database.query<{ id: number; leadCount: number; since: string; reconciled: number }>({
    name: 'accounts-to-reconcile',
    text: NEXT_ACCOUNTS,
    values: [Math.max(accountId ?? 0, afterId), accountId ?? null],
  })
  const spans: Span[] = []
  let left = LEADS
  let next: Place | undefined
  for (const { id, leadCount, since, reconciled } of rows) {
    const after = id === afterId ? afterNumber : full ? 0 : reconciled
    const last = Math.min(leadCount, after + left, full ? leadCount : reconciled + AHEAD)
    next = { afterId: id, afterNumber: Math.max(after, last) }
    if (last <= after) continue
    spans.push({ accountId: id, after, last, since })
    left -= last - after
    if (left === 0) return { spans, next }
  }
  return { spans, next: rows.length < ACCOUNTS ? undefined : next }
}

/** Numbers are given without gaps, and leads are never deleted: between two that follow each other none is missing. */
const gapsOf = ({ accountId, after, last, since }: Span, leads: LeadRow[]): Unexplained[] =>
  [...leads, { number: last + 1, createdAt: since }].flatMap(({ number, createdAt }, at) => {
    const leadNumber = (leads[at - 1]?.number ?? after) + 1
    const missing = number - leadNumber
    if (missing === 0) return []
    const detail =
      missing === 1 ? 'There is no lead of this number.' : `${missing} leads are missing from this number on.`
    const kind = 'lead_missing'
    return [Unexplained.fromPartial({ kind, accountId, leadNumber, since: createdAt, detail })]
  })

const lostEvent = ({ accountId, number, reference, eventId, createdAt }: LeadRow): Unexplained =>
  Unexplained.fromPartial({
    ...{ kind: 'event_missing', accountId, leadNumber: number, leadReference: reference, eventId: eventId! },
    ...{ since: createdAt, detail: 'The event is neither in the outbox nor held by webhook-service.' },
  })

/**
 * Counts leads, and finds what is wrong: a lead's event must be in the outbox, stored by webhook-service, or so old that it may
 * have been removed. `reached` is up to where each span needs no further check: what is on its way is waited for. `missing` are all
 * events that are not stored, whatever their age.
 */
export const checkSpans = async ({ database, webhooks }: ReconcileDeps, spans: Span[]) => {
  const bounds = (['accountId', 'after', 'last'] as const).map((key) => spans.map((span) => span[key]))
  const leads = await database.query<LeadRow>({ name: 'leads-to-reconcile', text: SELECT, values: bounds })
  const asked = leads.filter(({ eventId, erased, waiting }) => eventId !== null && !erased && !waiting)
  const { storedEventIds, deliveries, violations, keptSince } = await webhooks.checkEvents({
    eventIds: asked.map(({ eventId }) => eventId!),
  })
  const stored = new Set(storedEventIds)
  const missing = asked.filter(({ eventId }) => !stored.has(eventId!))
  const lost = missing.filter(({ createdAt }) => keptSince === undefined || createdAt >= keptSince)
  const waitedForSince = Date.now() - WAITED_FOR_MS
  const ofSpans = spans.map((span) => {
    const own = leads.filter(
      ({ accountId, number }) => accountId === span.accountId && number > span.after && number <= span.last,
    )
    const waitedFor = own.find(({ waiting, createdAt }) => waiting && Date.parse(createdAt) > waitedForSince)
    return { gaps: gapsOf(span, own), reached: waitedFor ? waitedFor.number - 1 : span.last }
  })
  const count = (is: (lead: LeadRow) => boolean) => leads.filter(is).length
  return {
    counts: {
      leads: leads.length,
      leadsWithoutEvent: count(({ eventId, erased }) => eventId === null && !erased),
      leadsErased: count(({ erased }) => erased),
      eventsOnTheirWay: count(({ waiting, erased }) => waiting && !erased),
      eventsHeld: storedEventIds.length,
      eventsPruned: missing.length - lost.length,
    },
    deliveries,
    findings: [...lost.map(lostEvent), ...ofSpans.flatMap(({ gaps }) => gaps), ...violations],
    reached: ofSpans.map(({ reached }) => reached),
    missing: missing.map(lostEvent),
  }
}

/** Checks the next leads, those behind what was reconciled of their account, or all, and stores what is unexplained. */
export const checkLeads = async (
  deps: ReconcileDeps,
  place: Place,
  options: Scope,
): Promise<{ counts?: Partial<ReconcileCounts>; next: Place | undefined }> => {
  const { spans, next } = await nextSpans(deps, place, options)
  if (spans.length === 0) return { next }
  const { counts, deliveries, findings, reached } = await checkSpans(deps, spans)
  await keepFindings(deps.database, findings)
  const values = [spans.map(({ accountId }) => accountId), spans.map(({ after }) => after), reached]
  await deps.database.query({ name: 'move-reconciled', text: MOVE, values })
  // With --full deliveries are counted with the events that they belong to, of all kinds.
  return { counts: { ...counts, ...(!options.full && deliveries) }, next }
}
