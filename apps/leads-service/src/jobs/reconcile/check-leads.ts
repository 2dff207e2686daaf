import { ReconcileCounts, type ReconcileCursor, Unexplained } from '@leadwire/contracts'
import { keepFindings } from './findings'
import { findingOf, type ReconcileDeps } from './reconcile-deps'

/** How many leads a batch reads, and from how many accounts at most. */
const LEADS = 500
const ACCOUNTS = 1000
/** So many leads are read in each check behind one whose event is on its way. */
const AHEAD = 10_000
/** A lead whose event is still in the outbox after so long is skipped: each check reads the outbox, too. */
const WAITED_FOR_MS = 24 * 3_600_000

const NEXT_ACCOUNTS = `
  SELECT a.id, a.lead_count AS "leadCount", nullif(a.last_lead_at, '-infinity') AS "lastLeadAt", coalesce(r.number, 0) AS reconciled,
    d.account_id IS NOT NULL AS deleted
  FROM accounts a LEFT JOIN reconciled_leads r ON r.account_id = a.id
    LEFT JOIN account_deletions d ON d.account_id = a.id
  WHERE a.id >= $1 AND a.id <= coalesce($2::bigint, a.id) ORDER BY a.id LIMIT ${ACCOUNTS}`

// One snapshot: an event that is not in the outbox is held by webhook-service, or lost.
const SELECT = `
  SELECT s.account_id AS "accountId", l.number, l.reference, l.event_id AS "eventId", l.created_at AS "createdAt",
    l.erased_at IS NOT NULL AS erased, o.event_id IS NOT NULL AS waiting
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS s (account_id, after, last) CROSS JOIN LATERAL (
    SELECT number, reference, event_id, created_at, erased_at FROM leads
    WHERE account_id = s.account_id AND number > s.after AND number <= s.last ORDER BY number
  ) l LEFT JOIN outbox o ON o.event_id = l.event_id
  ORDER BY s.account_id, l.number`

// The lead was not erased, and its account is not being deleted, since it was read.
const STILL_THERE = `
  SELECT reference FROM leads WHERE reference = ANY ($1::uuid[]) AND erased_at IS NULL
    AND NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = leads.account_id)`

const DELETED = 'SELECT account_id AS id FROM account_deletions WHERE account_id = ANY ($1::bigint[])'

// Only from where the check began: another one may have come further, or this one reads behind a lead that is waited for.
const MOVE = `
  INSERT INTO reconciled_leads AS r (account_id, number)
  SELECT account_id, number FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS m (account_id, before, number)
  WHERE number > before AND before = coalesce((SELECT number FROM reconciled_leads k WHERE k.account_id = m.account_id), 0)
  ORDER BY account_id
  ON CONFLICT (account_id) DO UPDATE SET number = greatest(r.number, excluded.number)`

interface AccountRow {
  id: number
  leadCount: number
  lastLeadAt: string
  reconciled: number
  deleted: boolean
}

/** The leads of an account behind `after`, up to `last`. */
interface Span {
  accountId: number
  after: number
  last: number
  lastLeadAt: string
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

type Place = Pick<ReconcileCursor, 'afterId' | 'afterNumber' | 'readAhead'>

/** Where an account is read from; a negative number in the cursor is the account's own. */
const startOf = (account: AccountRow, place: Place, full: boolean): number => {
  if (account.id === place.afterId && place.afterNumber >= 0) return place.afterNumber
  return full ? 0 : account.reconciled
}

/** The next leads, and the place after them; undefined at the end. */
const nextSpans = async (
  { database }: ReconcileDeps,
  place: Place,
  { accountId, full }: { accountId: number | undefined; full: boolean },
): Promise<{ spans: Span[]; next: Place | undefined }> => {
  const first = Math.max(accountId ?? 0, place.afterId)
  const rows = await database.query<AccountRow>({
    ...{ name: 'accounts-to-reconcile', text: NEXT_ACCOUNTS, values: [first, accountId ?? null] },
  })
  const spans: Span[] = []
  let left = LEADS
  for (const account of rows) {
    const after = startOf(account, place, full)
    if (account.deleted || account.leadCount <= after) continue
    const last = Math.min(account.leadCount, after + left)
    spans.push({ accountId: account.id, after, last, lastLeadAt: account.lastLeadAt })
    left -= last - after
    if (last < account.leadCount)
      return { spans, next: { afterId: account.id, afterNumber: last, readAhead: place.readAhead } }
    if (left === 0) return { spans, next: { afterId: account.id + 1, afterNumber: -1, readAhead: 0 } }
  }
  const isEnd = rows.length < ACCOUNTS
  return { spans, next: isEnd ? undefined : { afterId: rows.at(-1)!.id + 1, afterNumber: -1, readAhead: 0 } }
}

/** Numbers are given without gaps, and leads are never deleted: between two that follow each other none is missing. */
const gapsOf = (span: Span, leads: LeadRow[]): Unexplained[] => {
  const end = { number: span.last + 1, createdAt: span.lastLeadAt }
  let expected = span.after + 1
  return [...leads, end].flatMap(({ number, createdAt }) => {
    const [first, missing] = [expected, number - expected]
    expected = number + 1
    if (missing === 0) return []
    const detail =
      missing === 1 ? 'There is no lead of this number.' : `${missing} leads are missing from this number on.`
    return [
      Unexplained.fromPartial({
        ...{ kind: 'lead_missing', accountId: span.accountId, leadNumber: first, since: createdAt, detail },
      }),
    ]
  })
}

const lostEvent = ({ accountId, number, reference, eventId, createdAt }: LeadRow): Unexplained =>
  Unexplained.fromPartial({
    ...{ kind: 'event_missing', accountId, leadNumber: number, leadReference: reference, eventId: eventId! },
    ...{ since: createdAt, detail: 'The event is neither in the outbox nor held by webhook-service.' },
  })

/** Of what was found, what is no more to be explained by an erasure or a deletion that came in between. */
const confirm = async (
  { database }: ReconcileDeps,
  { lost, gaps }: { lost: LeadRow[]; gaps: Unexplained[] },
): Promise<Unexplained[]> => {
  if (lost.length + gaps.length === 0) return []
  const [there, deleted] = await Promise.all([
    database.query<{ reference: string }>({
      text: STILL_THERE,
      values: [lost.map(({ reference }) => reference)],
    }),
    database.query<{ id: number }>({ text: DELETED, values: [gaps.map(({ accountId }) => accountId)] }),
  ])
  return [
    ...lost.filter((lead) => there.some(({ reference }) => reference === lead.reference)).map(lostEvent),
    ...gaps.filter(({ accountId }) => !deleted.some(({ id }) => id === accountId)),
  ]
}

/** Up to which number of a span all is explained, or kept as unexplained. */
const reachedOf = (span: Span, leads: LeadRow[]): number => {
  const waitedFor = leads.find(
    ({ waiting, createdAt }) => waiting && Date.parse(createdAt) > Date.now() - WAITED_FOR_MS,
  )
  return waitedFor ? waitedFor.number - 1 : span.last
}

const check = async (deps: ReconcileDeps, spans: Span[], leads: LeadRow[]) => {
  const asked = leads.filter(({ eventId, erased, waiting }) => eventId !== null && !erased && !waiting)
  const { storedEventIds, deliveries, violations, keptSince } = await deps.webhooks.checkEvents({
    eventIds: asked.map(({ eventId }) => eventId!),
  })
  const held = new Set(storedEventIds)
  const missing = asked.filter(({ eventId }) => !held.has(eventId!))
  const lost = missing.filter(({ createdAt }) => keptSince === undefined || createdAt >= keptSince)
  const gaps = spans.flatMap((span) =>
    gapsOf(
      span,
      leads.filter(({ accountId }) => accountId === span.accountId),
    ),
  )
  const count = (is: (lead: LeadRow) => boolean) => leads.filter(is).length
  const counts = ReconcileCounts.fromPartial({
    leads: leads.length,
    leadsWithoutEvent: count(({ eventId, erased }) => eventId === null && !erased),
    leadsErased: count(({ erased }) => erased),
    eventsOnTheirWay: count(({ waiting, erased }) => waiting && !erased),
    eventsHeld: storedEventIds.length,
    eventsPruned: missing.length - lost.length,
    ...deliveries,
  })
  return { counts, findings: [...(await confirm(deps, { lost, gaps })), ...violations.map(findingOf)] }
}

/**
 * Checks the next leads: those behind what was reconciled of their account, or all. A lead's event must be in the outbox, held by
 * webhook-service, or so old that it may have been removed. What is on its way is waited for: `reconciled_leads` stays before it.
 */
export const checkLeads = async (
  deps: ReconcileDeps,
  place: Place,
  options: { accountId: number | undefined; full: boolean },
): Promise<{ counts: ReconcileCounts; next: Place | undefined }> => {
  const { database } = deps
  const { spans, next } = await nextSpans(deps, place, options)
  if (spans.length === 0) return { counts: ReconcileCounts.fromPartial({}), next }
  const column = (of: (span: Span) => number) => spans.map(of)
  const ids = column(({ accountId }) => accountId)
  const starts = column(({ after }) => after)
  const values = [ids, starts, column(({ last }) => last)]
  const leads = await database.query<LeadRow>({ name: 'leads-to-reconcile', text: SELECT, values })
  const { counts, findings } = await check(deps, spans, leads)
  const reached = spans.map((span) =>
    reachedOf(
      span,
      leads.filter(({ accountId }) => accountId === span.accountId),
    ),
  )
  await database.transaction(async (tx) => {
    keepFindings(tx, findings)
    tx.send({ name: 'move-reconciled', text: MOVE, values: [ids, starts, reached] })
  })
  if (options.full || next === undefined || next.afterNumber < 0) return { counts, next }
  const isAhead = next.readAhead > 0 || reached.at(-1)! < spans.at(-1)!.last
  const readAhead = isAhead ? next.readAhead + LEADS : 0
  if (readAhead <= AHEAD) return { counts, next: { ...next, readAhead } }
  return { counts, next: { afterId: next.afterId + 1, afterNumber: -1, readAhead: 0 } }
}
