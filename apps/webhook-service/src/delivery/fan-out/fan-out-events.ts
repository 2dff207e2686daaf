import { type Database, type OpenTransaction, type Round, statement } from '@leadwire/service-kit'
import type { Clock } from '../../clock'
import { createDeliveries, type FanOutEvent, findReceivers } from './create-deliveries'

/**
 * The maximum number of deliveries that one transaction creates. If a single event has more endpoints, one
 * transaction still creates all its deliveries.
 */
const MAX_ROWS = 1000
/** The maximum number of events that one transaction fans out. */
const MAX_EVENTS = 100

const findNextAccount = statement<{ accountId: number }>('find-next-account-to-fan-out')`
  SELECT account_id AS "accountId" FROM fan_out_queue
  WHERE account_id > :after ORDER BY account_id, id LIMIT 1`

const lockFanOut = statement<{ isLocked: boolean }>('lock-fan-out-of-account')`
  SELECT pg_try_advisory_xact_lock(hashtextextended('fan out ' || current_schema() || ' ' || :accountId::bigint, 0))
    AS "isLocked"`

const countEndpoints = statement<{ count: number }>('count-endpoints-to-fan-out')`
  SELECT count(*)::int AS count FROM endpoints WHERE account_id = :accountId AND deleted_at IS NULL`

const readQueue = statement<{ eventId: string; newestEndpointId: number }>('read-fan-out-queue')`
  SELECT event_id AS "eventId", newest_endpoint_id AS "newestEndpointId" FROM fan_out_queue
  WHERE account_id = :accountId ORDER BY account_id, id LIMIT :limit::int`

const readEvents = statement<FanOutEvent>('read-events-to-fan-out')`
  SELECT id, account_id AS "accountId", lead_reference AS "leadReference", type, test, match::text
  FROM events WHERE id = ANY (:eventIds::uuid[])`

// An erasure locks the event, too. So either this statement skips an erased event, or the erasure finds the
// deliveries that this transaction creates.
const lockWholeEvents = statement<{ id: string }>('lock-events-to-fan-out')`
  SELECT id FROM events WHERE id = ANY (:eventIds::uuid[]) AND erased_at IS NULL ORDER BY id FOR NO KEY UPDATE`

const saveFanOuts = statement('save-fan-outs')`
  UPDATE events SET fan_out = f.count
  FROM unnest(:eventIds::uuid[], :counts::int[]) AS f (id, count) WHERE events.id = f.id`

const removeFromQueue = statement('remove-from-fan-out-queue')`
  DELETE FROM fan_out_queue WHERE event_id = ANY (:eventIds::uuid[])`

/** An endpoint with new deliveries, which are due at `dueAt` (milliseconds since 1970). */
interface DueEndpoint {
  endpointId: number
  accountId: number
  dueAt: number
}

/**
 * Creates the deliveries of the next queued events of an account, in the order of its log. Skips events that
 * were erased or removed. Resolves with the enabled endpoints that have new deliveries.
 */
const fanOutNext = async (tx: OpenTransaction, accountId: number, now: Date): Promise<DueEndpoint[]> => {
  const [endpoints] = await countEndpoints(tx, { accountId })
  const eventsWithinRows = Math.floor(MAX_ROWS / Math.max(1, endpoints!.count))
  const limit = Math.min(MAX_EVENTS, Math.max(1, eventsWithinRows))
  const queued = await readQueue(tx, { accountId, limit })
  const eventIds = queued.map(({ eventId }) => eventId)
  const newestEndpointIds = new Map(queued.map((each) => [each.eventId, each.newestEndpointId]))

  const events = await readEvents(tx, { eventIds })
  const [{ receivers }, whole] = await Promise.all([
    findReceivers(tx, events),
    lockWholeEvents(tx, { eventIds }),
  ])
  const wholeIds = new Set(whole.map(({ id }) => id))
  const listReceivers = ({ id }: FanOutEvent) =>
    wholeIds.has(id)
      ? receivers.get(id)!.filter(({ endpointId }) => endpointId <= newestEndpointIds.get(id)!)
      : []

  const inOrder = events.toSorted((a, b) => eventIds.indexOf(a.id) - eventIds.indexOf(b.id))
  const deliveries = inOrder.flatMap((event) =>
    listReceivers(event).map((endpoint) => ({ event, endpoint, claim: null })),
  )
  saveFanOuts.send(tx, {
    eventIds: events.map(({ id }) => id),
    counts: events.map((event) => listReceivers(event).length),
  })
  removeFromQueue.send(tx, { eventIds })
  await createDeliveries(tx, deliveries, { now, claimMs: 0 })

  const pending = deliveries.filter(({ endpoint }) => endpoint.enabled)
  const endpointIds = new Set(pending.map(({ endpoint }) => endpoint.endpointId))
  return [...endpointIds].map((endpointId) => ({ endpointId, accountId, dueAt: now.getTime() }))
}

/**
 * Creates one round of the loop that empties the fan-out queue. A round fans out one batch of the next
 * account, so an account never waits for all events of another account. Any process may run a round, and may
 * be killed at any moment. Only one process at a time works on an account.
 */
export const createFanOut = (options: {
  database: Database
  clock: Clock
  /** Called after the commit with the endpoints that have new deliveries. */
  onCreated: (endpoints: DueEndpoint[]) => void
}): (() => Promise<Round>) => {
  const { database, clock, onCreated } = options
  let lastAccountId = 0

  return async () => {
    const [next] = await findNextAccount(database, { after: lastAccountId })
    if (!next) {
      const isFirst = lastAccountId === 0
      lastAccountId = 0
      return !isFirst
    }
    // Moves on to the next account before the work, because the work may fail while endpoints stay locked.
    // Otherwise the next round would begin with this account again.
    lastAccountId = next.accountId
    const endpoints = await database.transaction(async (tx) => {
      const [lock] = await lockFanOut(tx, next)
      return lock!.isLocked ? fanOutNext(tx, next.accountId, clock.now()) : undefined
    })
    if (!endpoints) return 'pause'
    onCreated(endpoints)
    return true
  }
}
