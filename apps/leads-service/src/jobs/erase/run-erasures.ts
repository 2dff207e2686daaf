import { LEADS_STREAM_CONFIG } from '@leadwire/contracts'
import { type Round, statement } from '@leadwire/service-kit'
import { claimDue, databaseTime, type Elsewhere, removeFiles } from '../elsewhere'

const AT_ONCE = 10
/** Attached files whose records are read together. */
const FILES = 50
/** Anything in flight when the lead was erased, such as an event being published, has arrived after this time. */
const IN_FLIGHT_S = 15

const claim = statement<ClaimedRow>('claim-erasures')`${claimDue(
  'erasures',
  AT_ONCE,
  `account_id AS "accountId", lead_id AS "leadId", places, events, event_id AS "eventId",
    (SELECT reference FROM leads l WHERE l.account_id = job.account_id AND l.id = job.lead_id) AS reference,
    requested_at < clock_timestamp() - interval '${IN_FLIGHT_S} seconds' AS arrived`,
)}`

const STREAM_MAX_AGE_S = LEADS_STREAM_CONFIG.max_age / 1_000_000_000

// Keep the list of events no longer than it is needed.
const record = statement('record-erasure')`
  UPDATE erasures SET places = $3, stream_until = $4::timestamptz + interval '${STREAM_MAX_AGE_S} seconds',
    finished_at = CASE WHEN $5 THEN clock_timestamp() END, events = CASE WHEN $5 THEN '[]' ELSE events END,
    due_at = clock_timestamp() + interval '1 second'
  WHERE account_id = $1 AND lead_id = $2 AND finished_at IS NULL`

const releaseEvent = statement('release-erasure-event')`
  UPDATE outbox SET published_at = NULL WHERE event_id = $1 AND published_at > clock_timestamp()`

/** How the erasure of one kind of data in one store fares; null until it is done. */
export interface ErasedPlace {
  store: 'postgresql' | 'object_store' | 'jetstream'
  what: string
  count: number | null
  erased_at: string | null
}

/** An event that was not known to be stored by webhook-service, and where it is in the stream, if it is known to be there. */
export interface LooseEvent {
  id: string
  sequence: number | null
}

interface ClaimedRow {
  accountId: number
  leadId: number
  reference: string
  /** The event that reports it; null where a copy of the previous release erased the lead. */
  eventId: string | null
  /** JSON. */
  places: string
  events: string
  /** Whether everything in flight when the lead was erased has arrived, or never will. */
  arrived: boolean
}

interface Job extends Omit<ClaimedRow, 'places' | 'events'> {
  places: ErasedPlace[]
  events: LooseEvent[]
  /** When the newest event was stored whose position in the stream is unknown. */
  unplacedAt: string | null
}

/** The counts of what it erases, all that was erased before included; undefined while there is more to do. May be repeated. */
type Erase = (job: Job, deps: Elsewhere) => Promise<number[] | undefined>

const eraseFiles: Erase = async ({ accountId, leadId, places }, deps) => {
  const condition = 'account_id = $1 AND lead_id = $2'
  while (await removeFiles(deps, 'attachments', { condition, values: [accountId, leadId], limit: FILES }));
  return [places.find(({ what }) => what === 'attachments')?.count ?? 0]
}

// An event in flight is waited for, so that its place in the stream becomes known; one that did not come by then is dropped should
// it still come. An attempt in flight is waited for, so that `lead.erased` is not sent before it ends.
const eraseEvents: Erase = async (job, { webhooks }) => {
  const erased = await webhooks.eraseLeadEvents({
    accountId: job.accountId,
    leadReference: job.reference,
    eventIds: job.events.map(({ id }) => id),
    tombstone: job.arrived,
  })
  job.events.push(...erased.messages.map(({ eventId, sequence }) => ({ id: eventId, sequence })))
  job.unplacedAt = erased.unplacedAt ?? null
  if (erased.missingEventIds.length > 0 || erased.attemptsInFlight) return undefined
  return [erased.webhookEvents, erased.notificationEvents, erased.cancelledDeliveries, erased.attempts]
}

const eraseMessages: Erase = async ({ events }, { deleteMessage }) => {
  const placed = new Map(events.flatMap(({ id, sequence }) => (sequence === null ? [] : [[id, sequence]])))
  for (const [eventId, sequence] of placed) await deleteMessage({ eventId, sequence })
  return [placed.size]
}

/** Every place beyond this service's database, in the order in which they are erased: a further one is a further entry. */
export const PLACES: { store: ErasedPlace['store']; erases: string[]; erase: Erase }[] = [
  { store: 'object_store', erases: ['attached_files'], erase: eraseFiles },
  {
    store: 'postgresql',
    erases: ['webhook_events', 'notification_events', 'cancelled_deliveries', 'attempt_responses'],
    erase: eraseEvents,
  },
  // Behind the events, which know where their messages are.
  { store: 'jetstream', erases: ['messages'], erase: eraseMessages },
]

const work = async (row: ClaimedRow, deps: Elsewhere): Promise<void> => {
  const { database, logger } = deps
  const { places, events, reference } = row
  const job: Job = { ...row, places: JSON.parse(places), events: JSON.parse(events), unplacedAt: null }
  for (const { erases, erase } of PLACES) {
    // A place that fails is tried again; the others continue meanwhile.
    const counts = await erase(job, deps).catch((error: unknown) => {
      logger.warn({ err: error, lead: reference, place: erases[0] }, 'not erased yet')
      return undefined
    })
    const erased_at = counts ? await databaseTime(database) : null
    for (const [at, what] of erases.entries()) {
      const place = job.places.find((each) => each.what === what)!
      Object.assign(place, { count: counts?.[at] ?? null, erased_at })
    }
  }
  const done = job.places.every(({ erased_at }) => erased_at !== null)
  const values = [job.accountId, job.leadId, JSON.stringify(job.places), job.unplacedAt, done]
  const isLast = job.places.find(({ what }) => what === 'webhook_events')!.erased_at !== null
  await database.transaction(async (tx) => {
    record.send(tx, ...values)
    if (isLast) releaseEvent.send(tx, job.eventId)
  })
}

/** Takes up a few erasures that are open, for what is beyond this service's database. */
export const eraseOnce = async (deps: Elsewhere): Promise<Round> => {
  const rows = await claim(deps.database)
  await Promise.all(rows.map((row) => work(row, deps)))
  return rows.length === AT_ONCE || (rows.length > 0 && 'pause')
}
