import { Unexplained } from '@leadwire/contracts'
import { keepFindings } from './findings'
import type { ReconcileDeps } from './reconcile-deps'

/** Publishing, storing and the sweep take seconds, also when an event is published again. */
const GRACE_S = 30
/** The most events reported in each of the two states. */
const REPORTED = 1000

// Each in the order of its index, oldest first.
const overdue = (state: string, order: string) => `
  (SELECT account_id AS "accountId", lead_reference AS "leadReference", event_id AS "eventId", created_at AS since,
    sequence IS NOT NULL AS published, refusal
  FROM outbox
  WHERE ${state} AND created_at < clock_timestamp() - interval '${GRACE_S} seconds' AND account_id = coalesce($1, account_id)
  ORDER BY ${order} LIMIT ${REPORTED})`

const SELECT = `${overdue('published_at IS NULL', 'created_at')} UNION ALL ${overdue('published_at IS NOT NULL', 'published_at')}`

interface WaitingRow {
  accountId: number
  leadReference: string | null
  eventId: string
  since: string
  published: boolean
  /** Why webhook-service refused it; null: it did not. */
  refusal: string | null
}

const detailOf = ({ published, refusal }: WaitingRow): string => {
  if (refusal !== null) return `The event was refused: ${refusal}`
  return published
    ? 'The event is published, and webhook-service does not hold it.'
    : 'The event is in the outbox and not published.'
}

const waitingEvent = (row: WaitingRow): Unexplained =>
  Unexplained.fromPartial({
    ...{ kind: 'event_waiting', accountId: row.accountId, eventId: row.eventId, since: row.since },
    ...(row.leadReference !== null && { leadReference: row.leadReference }),
    detail: detailOf(row),
  })

/** Keeps which events have been in the outbox for longer than they should. */
export const checkOutbox = async (
  { database }: ReconcileDeps,
  accountId: number | undefined,
): Promise<void> => {
  const query = { name: 'overdue-events', text: SELECT, values: [accountId ?? null] }
  const rows = await database.query<WaitingRow>(query)
  await database.transaction(async (tx) => keepFindings(tx, rows.map(waitingEvent)))
}
