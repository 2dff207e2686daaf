import type { EndpointFilter } from './generated/leadwire/webhooks/v1/webhooks_service'

/** The keys of an endpoint's filter. Each key is compared with a value in the `match` of an event. */
export const FILTER_KEYS = ['status', 'referrer', 'postcode', 'user_email'] as const

export type FilterKey = (typeof FILTER_KEYS)[number]

/** The maximum number of values that one key may list. */
export const MAX_FILTER_VALUES = 100

/** Returns the lists of a filter that are not empty, or null if all are empty. */
export const filterRecord = (
  filter: Partial<EndpointFilter> = {},
): Partial<Record<FilterKey, string[]>> | null => {
  const { status = [], referrer = [], postcode = [], userEmail = [] } = filter
  const all = { status, referrer, postcode, user_email: userEmail }
  const named = Object.entries(all).filter(([, values]) => values.length > 0)
  return named.length > 0 ? Object.fromEntries(named) : null
}
