/*
 * The job of an erasure. `eraseLead` has emptied the rows of this service's database. The job erases the data
 * in the other stores: files, the events of webhook-service, and messages of the stream.
 *
 * Each round claims a few erasures, and runs the steps of each erasure (`PLACES`). A step either reports how
 * much data it has erased in total, or is repeated in the next round because there is more to do. The erasure
 * itself also causes events, which are published in this order:
 *
 * 1. `eraseLead` parks `lead.erased` and the events of cancelled appointments and callbacks: they are in the
 *    outbox, but are not published.
 * 2. The job releases the events of cancellations when webhook-service has erased the lead's other events.
 * 3. The job releases `lead.erased` when the events of cancellations are published, so that `lead.erased` is
 *    normally the lead's last event.
 *
 * The erasure is finished when all steps have reported and `lead.erased` is released.
 */
import { LEADS_STREAM_CONFIG } from '@leadwire/contracts'
import { type EventMessage, type Round, statement } from '@leadwire/service-kit'
import { releaseEvents } from '../../outbox/record-events'
import { claimDue, databaseTime, type Elsewhere, removeFiles } from '../elsewhere'

const AT_ONCE = 10
/** The maximum number of attached files that one batch deletes. */
const FILES = 50
/**
 * How long events are normally in flight, in seconds. Events that were being published when the lead was
 * erased have normally reached webhook-service after this time. webhook-service then stores a tombstone for
 * each missing event. If the event still arrives later, webhook-service finds the tombstone and drops the
 * event.
 */
const IN_FLIGHT_S = 15

const claim = statement<ClaimedRow>('claim-erasures')`${claimDue(
  'erasures',
  AT_ONCE,
  `account_id AS "accountId", lead_id AS "leadId", places, events, event_id AS "eventId",
    (SELECT reference FROM leads l WHERE l.account_id = job.account_id AND l.id = job.lead_id) AS reference,
    requested_at NOT BETWEEN clock_timestamp() - interval '${IN_FLIGHT_S} seconds' AND clock_timestamp() AS "hasArrived"`,
)}`

const STREAM_MAX_AGE_S = LEADS_STREAM_CONFIG.max_age / 1_000_000_000

// When the erasure is finished, also empties the list of events.
const record = statement('record-erasure')`
  UPDATE erasures SET places = $3, stream_until = $4::timestamptz + interval '${STREAM_MAX_AGE_S} seconds',
    finished_at = CASE WHEN $5 THEN clock_timestamp() END, events = CASE WHEN $5 THEN '[]' ELSE events END,
    due_at = clock_timestamp() + interval '1 second'
  WHERE account_id = $1 AND lead_id = $2 AND finished_at IS NULL`

const countUnpublished = statement<{ count: number }>('count-unpublished')`
  SELECT count(*)::int AS count FROM outbox WHERE event_id = ANY ($1::uuid[]) AND publish_count = 0 AND refusal IS NULL`

/** The progress of erasing one kind of data. `count` and `erased_at` are null until the data is erased. */
export interface ErasedPlace {
  store: 'postgresql' | 'object_store' | 'jetstream'
  what: string
  count: number | null
  erased_at: string | null
}

/** An event that the job must find and erase. If `kept` is set, the job must instead publish the event. */
export interface LooseEvent {
  id: string
  /** Set for the event of a cancellation that the erasure made. This event is not erased. */
  kept?: true
}

interface ClaimedRow {
  accountId: number
  leadId: number
  reference: string
  /** The id of the event `lead.erased`. */
  eventId: string
  /** JSON of ErasedPlace[]. */
  places: string
  /** JSON of LooseEvent[]. */
  events: string
  /** Whether IN_FLIGHT_S has passed since the lead was erased, or PostgreSQL's clock has gone back. */
  hasArrived: boolean
}

interface Job extends Omit<ClaimedRow, 'places' | 'events'> {
  places: ErasedPlace[]
  /** Events that `eraseLead` took from the outbox, and that webhook-service may not have stored yet. */
  eventIds: string[]
  /** The events of cancellations, which are not erased. */
  keptEventIds: string[]
  /** The messages of the lead in the stream that are known so far. */
  messages: EventMessage[]
  /**
   * Whether `messages` is complete. `eraseEvents` sets this value when no event is missing and no attempt is
   * in flight.
   */
  areAllMessagesKnown: boolean
  /** The creation time of the newest event whose position in the stream is unknown. */
  unplacedAt: string | null
}

const readJob = (row: ClaimedRow): Job => {
  const events: LooseEvent[] = JSON.parse(row.events)
  return {
    ...row,
    places: JSON.parse(row.places),
    eventIds: events.filter(({ kept }) => !kept).map(({ id }) => id),
    keptEventIds: events.filter(({ kept }) => kept).map(({ id }) => id),
    messages: [],
    areAllMessagesKnown: false,
    unplacedAt: null,
  }
}

const findPlace = ({ places }: Job, what: string): ErasedPlace => places.find((place) => place.what === what)!

const areEventsErased = (job: Job): boolean => findPlace(job, 'webhook_events').erased_at !== null

/**
 * Erases the data in one store. May be repeated. Resolves with the total counts of erased data, or with
 * undefined while there is more to do.
 */
type Erase = (job: Job, deps: Elsewhere) => Promise<number[] | undefined>

const eraseFiles: Erase = async (job, deps) => {
  const { accountId, leadId } = job
  const condition = 'account_id = $1 AND lead_id = $2'
  let hasMore = true
  while (hasMore)
    hasMore = await removeFiles(deps, 'attachments', { condition, values: [accountId, leadId], limit: FILES })
  // Reports the number of rows that `eraseLead` has counted, because earlier rounds may have deleted some of
  // the files.
  return [job.places.find(({ what }) => what === 'attachments')?.count ?? 0]
}

// Resolves with undefined while an event is in flight, so that the next round tries again: webhook-service
// learns the event's messages in the stream only when the event arrives. After `IN_FLIGHT_S`, webhook-service
// stores a tombstone for the event instead. If the event arrives later, webhook-service drops the event and
// deletes its message. Also resolves with undefined while attempts are in flight, so that `lead.erased` is
// not sent before these attempts end.
const eraseEvents: Erase = async (job, { webhooks }) => {
  const erased = await webhooks.eraseLeadEvents({
    accountId: job.accountId,
    leadReference: job.reference,
    eventIds: job.eventIds,
    keptEventIds: job.keptEventIds,
    tombstone: job.hasArrived,
  })
  job.messages.push(...erased.messages)
  job.unplacedAt = erased.unplacedAt ?? null
  if (erased.missingEventIds.length > 0 || erased.attemptsInFlight) return undefined
  job.areAllMessagesKnown = true
  return [erased.webhookEvents, erased.notificationEvents, erased.cancelledDeliveries, erased.attempts]
}

const eraseMessages: Erase = async (job, { deleteMessage }) => {
  // webhook-service may report a message twice: once for webhooks and once for notifications.
  const unique = new Map(job.messages.map((message) => [`${message.eventId}:${message.sequence}`, message]))
  for (const message of unique.values()) await deleteMessage(message)
  // Resolves with undefined until the events are erased, because only then all messages are known.
  return job.areAllMessagesKnown ? [unique.size] : undefined
}

/**
 * The steps of the job, in their order, for all data outside this service's database. `erases` names the
 * counts that `erase` resolves with.
 */
export const PLACES: { store: ErasedPlace['store']; erases: string[]; erase: Erase }[] = [
  { store: 'object_store', erases: ['attached_files'], erase: eraseFiles },
  {
    store: 'postgresql',
    erases: ['webhook_events', 'notification_events', 'cancelled_deliveries', 'attempt_responses'],
    erase: eraseEvents,
  },
  // Comes after `eraseEvents`, which finds the positions of the messages.
  { store: 'jetstream', erases: ['messages'], erase: eraseMessages },
]

const erasePlaces = async (job: Job, deps: Elsewhere): Promise<void> => {
  for (const { erases, erase } of PLACES) {
    // If a step fails, the other steps continue, and the next round repeats the failed step.
    const counts = await erase(job, deps).catch((error: unknown) => {
      deps.failures.warn({ err: error, lead_id: job.leadId, place: erases[0] }, 'not erased yet')
      return undefined
    })
    if (!counts) continue
    const time = await databaseTime(deps.database)
    for (const [index, what] of erases.entries()) {
      const place = findPlace(job, what)
      place.count = counts[index]!
      place.erased_at ??= time
    }
  }
}

/** Releases the parked events whose turn has come (see the top of this file), and records the progress. */
const recordProgress = (job: Job, { database }: Elsewhere): Promise<void> =>
  database.transaction(async (tx) => {
    const { accountId, leadId, places, keptEventIds, eventId, unplacedAt } = job
    const areAllErased = places.every(({ erased_at }) => erased_at !== null)
    if (areEventsErased(job)) releaseEvents(tx, keptEventIds)
    const [unpublished] = await countUnpublished(tx, keptEventIds)
    const areOthersPublished = areEventsErased(job) && unpublished!.count === 0
    if (areOthersPublished) releaseEvents(tx, [eventId])
    const isFinished = areAllErased && areOthersPublished
    record.send(tx, accountId, leadId, JSON.stringify(places), unplacedAt, isFinished)
  })

const runErasure = async (row: ClaimedRow, deps: Elsewhere): Promise<void> => {
  const job = readJob(row)
  await erasePlaces(job, deps)
  await recordProgress(job, deps)
}

/** Runs a round: claims a few erasures that are due, and continues them. */
export const eraseOnce = async (deps: Elsewhere): Promise<Round> => {
  const rows = await claim(deps.database)
  await Promise.all(rows.map((row) => runErasure(row, deps)))
  return rows.length === AT_ONCE || (rows.length > 0 && 'pause')
}
