import {
  type ReconcileCounts,
  type ReconcileCursor,
  type ReconcileRequest,
  Unexplained,
  type WebhooksServiceClient,
} from '@leadwire/contracts'
import { type Database, splitIntoColumns, statement } from '@leadwire/service-kit'
import { keepFindings } from './unexplained'

export interface ReconcileDeps {
  database: Database
  webhooks: Pick<WebhooksServiceClient, 'check'>
}

/**
 * A stage of the check. Each call checks a batch. `after` is the last position of the batch, or undefined if
 * the stage is finished. The caller stores `findings`.
 */
export type Stage = (
  deps: ReconcileDeps,
  request: ReconcileRequest & { cursor: ReconcileCursor },
) => Promise<{
  counts?: Partial<ReconcileCounts> | undefined
  findings?: Unexplained[]
  after?: string | undefined
}>

/** The maximum numbers of leads and of accounts that a batch reads. */
const LEADS = 500
const ACCOUNTS = 1000
/**
 * The maximum number of leads that a check reads after the last reconciled lead of an account. A lead that is
 * less than a day old, and whose event is still in the outbox, keeps all later leads from becoming
 * reconciled. Without the limit, each check would read all these later leads.
 */
const AHEAD = 10_000

const nextAccounts = statement<CheckedAccount>('accounts-to-reconcile')`
  SELECT a.id, a.lead_count AS "leadCount", coalesce(r.number, 0) AS reconciled
  FROM accounts a LEFT JOIN reconciled_leads r ON r.account_id = a.id
  WHERE a.id >= $1 AND a.id <= coalesce($2::bigint, a.id)
    AND NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = a.id)
  ORDER BY a.id LIMIT ${ACCOUNTS}`

// Reads leads and the outbox in one snapshot, so an event that is not in the outbox is either stored by
// webhook-service or lost. Numbers have no gaps, and leads are never deleted, so a missing number is an
// error. A `young` lead is less than a day old. While the event of a young lead waits in the outbox, later
// leads do not become reconciled. An older lead does not hold up later leads, because the stage `outbox`
// reports its waiting event anyway.
const select = statement<LeadRow>('leads-to-reconcile')`
  SELECT s.account_id AS "accountId", n.number AS "leadNumber", l.reference AS "leadReference", l.event_id AS "eventId",
    coalesce(l.created_at, (SELECT greatest(last_lead_at, created_at) FROM accounts WHERE id = s.account_id)) AS since,
    l.erased_at IS NOT NULL AS erased, l.created_at > clock_timestamp() - interval '1 day' AS young,
    EXISTS (SELECT FROM outbox WHERE event_id = l.event_id) AS waiting
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS s (account_id, after, last)
  CROSS JOIN LATERAL generate_series(s.after + 1, s.last) AS n (number)
  LEFT JOIN leads l ON l.account_id = s.account_id AND l.number = n.number
  ORDER BY s.account_id, n.number`

// Moves an account's reconciled number only if the batch starts directly after this number. Otherwise another
// check has moved the number, or an earlier batch has stopped at a lead whose event is still in the outbox.
const move = statement('move-reconciled')`
  INSERT INTO reconciled_leads AS r (account_id, number)
  SELECT account_id, number FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS m (account_id, before, number)
  WHERE number > before AND before = coalesce((SELECT number FROM reconciled_leads k WHERE k.account_id = m.account_id), 0)
  ORDER BY account_id
  ON CONFLICT (account_id) DO UPDATE SET number = greatest(r.number, excluded.number)`

interface CheckedAccount {
  id: number
  leadCount: number
  /** The number of the last reconciled lead. */
  reconciled: number
}

/** The leads of an account with numbers above `after`, up to `last`. */
interface Span {
  accountId: number
  after: number
  last: number
}

interface LeadRow {
  accountId: number
  leadNumber: number
  /** null if no lead has this number. */
  leadReference: string | null
  eventId: string | null
  since: string
  erased: boolean
  waiting: boolean
  young: boolean
}

const DETAILS = {
  lead_missing: 'No lead has this number. The leads with the next numbers may be missing, too.',
  event_missing: 'The event is neither in the outbox nor stored by webhook-service.',
}

const buildFinding = (kind: keyof typeof DETAILS) => (lead: object) =>
  Unexplained.fromPartial({ ...lead, kind, detail: DETAILS[kind] })

/**
 * Counts leads, and finds missing leads and missing events. An event is missing if it is neither in the
 * outbox nor stored by webhook-service. If webhook-service may have removed the event because of its age,
 * the finding is in `old`, and not in `findings`. `waitedFor` are the young leads whose events are in the
 * outbox.
 */
export const checkSpans = async ({ database, webhooks }: ReconcileDeps, spans: Span[]) => {
  const rows = await select(database, ...splitIntoColumns(spans, 'accountId', 'after', 'last'))
  const leads = rows.filter(({ leadReference }) => leadReference !== null)
  const asked = leads.filter(({ eventId, erased, waiting }) => eventId !== null && !erased && !waiting)
  const stored = await webhooks.check({ eventIds: asked.map(({ eventId }) => eventId!) })
  const { storedEventIds, keptSince } = stored
  const missing = asked.filter(({ eventId }) => !storedEventIds.includes(eventId!))
  const isOld = ({ since }: LeadRow) => keptSince !== undefined && since < keptSince
  // Only the first of adjacent missing leads is reported.
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
      ...missing.filter((lead) => !isOld(lead)).map(buildFinding('event_missing')),
      ...gaps.map(buildFinding('lead_missing')),
      ...stored.findings,
    ],
    old: missing.filter(isOld).map(buildFinding('event_missing')),
    waitedFor: leads.filter(({ waiting, young }) => waiting && young),
  }
}

/** Returns the range of an account's leads that a check reads. */
const findSpan = ({ id: accountId, leadCount, reconciled }: CheckedAccount, full: boolean): Span =>
  full
    ? { accountId, after: 0, last: leadCount }
    : { accountId, after: reconciled, last: Math.min(leadCount, reconciled + AHEAD) }

/**
 * Plans a batch: the next leads of each account, at most LEADS in total. `read` is the last lead of the
 * previous batch. `isFull` says whether the batch has LEADS leads, so that more leads may follow.
 */
const planBatch = (
  accounts: CheckedAccount[],
  full: boolean,
  read: { accountId: number; number: number },
): { spans: Span[]; isFull: boolean } => {
  const spans: Span[] = []
  let left = LEADS
  for (const account of accounts) {
    const span = findSpan(account, full)
    const { accountId } = span
    const after = accountId === read.accountId ? read.number : span.after
    const last = Math.max(after, Math.min(span.last, after + left))
    spans.push({ accountId, after, last })
    left -= last - after
    if (left === 0) break
  }
  return { spans, isFull: left === 0 }
}

/**
 * Checks the next leads, and stores the findings. Starts after the reconciled leads of each account, or
 * with `full` at the first lead.
 */
export const checkLeads: Stage = async (deps, { accountId, full, cursor }) => {
  const { database } = deps
  const [afterId = 0, afterNumber = 0] = cursor.after.split(' ').map(Number)
  const accounts = await nextAccounts(database, Math.max(accountId ?? 0, afterId), accountId ?? null)
  const { spans, isFull } = planBatch(accounts, full, { accountId: afterId, number: afterNumber })
  const { deliveries, counts, findings, waitedFor } = await checkSpans(deps, spans)
  await keepFindings(database, findings)
  const reached = spans.map((span) => {
    const first = waitedFor.find((lead) => lead.accountId === span.accountId)
    return first ? first.leadNumber - 1 : span.last
  })
  await move(database, ...splitIntoColumns(spans, 'accountId', 'after'), reached)
  const end = spans.at(-1)
  const isEnd = !isFull && accounts.length < ACCOUNTS
  return {
    // With `full`, the stages that read events count the deliveries, so this stage does not.
    counts: full ? counts : { ...deliveries, ...counts },
    after: isEnd || !end ? undefined : `${end.accountId} ${end.last}`,
  }
}
