import type { EndpointFilter } from './generated/leadwire/webhooks/v1/webhooks_service'

/** What a filter of an endpoint can name, and the event's `match` has. */
export const FILTER_KEYS = ['status', 'referrer', 'postcode', 'user_email'] as const

export type FilterKey = (typeof FILTER_KEYS)[number]

/** Values that each key may list. */
export const MAX_FILTER_VALUES = 100

/** The keys that a filter names, with their values; null when it names none. */
export const filterRecord = (
  filter: Partial<EndpointFilter> = {},
): Partial<Record<FilterKey, string[]>> | null => {
  const { status = [], referrer = [], postcode = [], userEmail = [] } = filter
  const all = { status, referrer, postcode, user_email: userEmail }
  const named = Object.entries(all).filter(([, values]) => values.length > 0)
  return named.length > 0 ? Object.fromEntries(named) : null
}
