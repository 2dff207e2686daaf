import {
  type CheckEventsRequest,
  type CheckEventsResponse,
  type CheckNextEventsRequest,
  type CheckNextEventsResponse,
  DeliveryCounts,
} from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { isUuid } from '../uuid'
import { countDeliveries, countNextDeliveries } from './count-deliveries'

interface Deps {
  database: Database
  notifications: Database
  /** How long events and deliveries are kept at least; infinite: for good. */
  keptMs: number
}

// By the machine's clock, as loosely as it may differ from the database's: a minute is nothing to hours.
const keptSinceOf = (keptMs: number): string | undefined =>
  Number.isFinite(keptMs) ? new Date(Date.now() - keptMs + 60_000).toISOString() : undefined

const sum = (one: DeliveryCounts, other: DeliveryCounts): DeliveryCounts =>
  DeliveryCounts.fromPartial({
    pending: one.pending + other.pending,
    inFlight: one.inFlight + other.inFlight,
    held: one.held + other.held,
    delivered: one.delivered + other.delivered,
    exhausted: one.exhausted + other.exhausted,
    cancelled: one.cancelled + other.cancelled,
  })

const checkIds = (eventIds: string[]): void => {
  if (!eventIds.every(isUuid)) throw ServiceError.invalid({ event_ids: ['must be UUIDs'] })
}

/** How these events of leads, or notifications, stand. Throws invalid. */
export const checkEvents = async (
  { database, notifications, keptMs }: Deps,
  { eventIds }: CheckEventsRequest,
): Promise<CheckEventsResponse> => {
  checkIds(eventIds)
  const keptSince = keptSinceOf(keptMs)
  const [ofLeads, messages] = await Promise.all(
    [database, notifications].map((kind) => countDeliveries(kind, { eventIds, keptSince })),
  )
  return {
    storedEventIds: [...ofLeads!.ids, ...messages!.ids],
    deliveries: sum(ofLeads!.deliveries, messages!.deliveries),
    faults: [...ofLeads!.faults, ...messages!.faults],
    keptSince,
  }
}

const FIRST = '00000000-0000-0000-0000-000000000000'

/** The same of the next thousand events of a kind. Throws invalid. */
export const checkNextEvents = async (
  { database, notifications, keptMs }: Deps,
  { notifications: areMessages, afterId = FIRST, accountId }: CheckNextEventsRequest,
): Promise<CheckNextEventsResponse> => {
  checkIds([afterId])
  const { ids, ...counted } = await countNextDeliveries(areMessages ? notifications : database, {
    ...{ afterId, accountId, keptSince: keptSinceOf(keptMs) },
  })
  return { events: ids.length, ...counted }
}
