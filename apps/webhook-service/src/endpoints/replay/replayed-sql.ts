import { UNCLAIMED } from '../../delivery-sql'
import { passesFilter } from '../filter'

// Held deliveries that are out of sync only move to pending. An event without a delivery is `missing`.
const RECOVERED = ['exhausted', 'held', 'pending']

/** The statuses of deliveries that a state of a request stands for. */
export const STATUSES: Record<string, string[]> = {
  exhausted: ['exhausted'],
  undelivered: [...RECOVERED, 'missing'],
  all: [...RECOVERED, 'missing', 'delivered'],
}

export const STATE_VIOLATION = `must be one of ${Object.keys(STATUSES).join(', ')}`

/**
 * SQL: whether the endpoint takes the event `e` of the replay `r`, which has the endpoint's columns beside its own. Given types replace
 * those of the subscription; its other conditions stay.
 */
export const IS_WANTED = `(
  e.erased_at IS NULL AND e.created_at >= r.since AND e.created_at < r.before
  AND e.type = ANY (coalesce(r.types, r.events)) AND (r.leads = 'all' OR (r.leads = 'test') = e.test)
  AND ${passesFilter('r.filter', 'e.match')}
)`

/** SQL: the delivery that `alias` names has no manual attempt, is not due and not claimed. */
export const isWaiting = (alias: string) => `(
  ${alias}.manual_at IS NULL AND ${UNCLAIMED} AND (${alias}.next_attempt_at IS NULL OR ${alias}.next_attempt_at > now())
)`
