import {
  EndpointFilter,
  emailKey,
  FILTER_KEYS,
  type FilterKey,
  filterRecord,
  type Match,
  postcodeBeginning,
} from '@leadwire/contracts'

/*
 * Filtering compares two columns. `endpoints.filter` is an object with a list of allowed values for each key
 * that the filter uses. `events.match` is an object with the lead's value of each key. Each column is NULL if
 * it has nothing to compare. Postcodes and e-mail addresses are normalised in both columns.
 */

/** Renders a filter for the column `endpoints.filter`. Returns null if the filter has no values. */
export const renderFilterColumn = (filter: EndpointFilter | undefined): string | null => {
  const record = filterRecord(filter)
  return record && JSON.stringify(record)
}

/** Converts the column `endpoints.filter` to a message. */
export const parseFilterColumn = (
  filter: ReturnType<typeof filterRecord> | undefined,
): EndpointFilter | undefined =>
  filter ? EndpointFilter.fromPartial({ ...filter, userEmail: filter.user_email ?? [] }) : undefined

/** Renders the values of a lead that filters compare, for the column `events.match`. */
export const renderMatchColumn = (match: Match | undefined): string | null => {
  if (match === undefined) return null
  const { status, referrer, postcode, userEmail } = match
  return JSON.stringify({ status, referrer, postcode, user_email: userEmail && emailKey(userEmail) })
}

/** Normalises the values of a filter and removes duplicates. */
export const normaliseFilter = ({
  status,
  referrer,
  postcode,
  userEmail,
}: EndpointFilter): EndpointFilter => ({
  status: [...new Set(status)],
  referrer: [...new Set(referrer)],
  postcode: [...new Set(postcode.map(postcodeBeginning))],
  userEmail: [...new Set(userEmail.map(emailKey))],
})

/** SQL: all prefixes of the postcode of a match. */
const listPrefixes = (match: string): string =>
  `ARRAY (SELECT left(${match} ->> 'postcode', n) FROM generate_series(1, length(${match} ->> 'postcode')) n)`

/**
 * SQL: whether a match passes one key of a filter. A match passes if the filter does not use the key, or if
 * the filter lists the value of the match. A postcode passes if the filter lists one of its prefixes. The
 * cost of the check does not depend on the length of the list.
 */
const passesKey = (key: FilterKey, filter: string, match: string): string => {
  const isListed = key === 'postcode' ? `?| ${listPrefixes(match)}` : `? (${match} ->> '${key}')`
  return `(NOT ${filter} ? '${key}' OR coalesce(${filter} -> '${key}' ${isListed}, false))`
}

/**
 * SQL: whether an event with the column `match` passes the filter of an endpoint. If `match` is NULL, the
 * event passes every filter, so that no event is lost.
 */
export const passesFilter = (filter: string, match: string): string =>
  `(${filter} IS NULL OR ${match} IS NULL OR ${FILTER_KEYS.map((key) => passesKey(key, filter, match)).join(' AND ')})`

/** SQL: the keys of a filter that an event does not pass. */
export const failedKeys = (filter: string, match: string): string => {
  const failed = FILTER_KEYS.map((key) => `CASE WHEN NOT ${passesKey(key, filter, match)} THEN '${key}' END`)
  return `array_remove(ARRAY[${failed.join(', ')}], NULL)`
}

/**
 * SQL: whether an endpoint receives an event. The event types of the endpoint, its choice of live or test
 * leads, and its filter decide. `endpoint` and `event` are aliases of rows. `types` replaces the event types
 * of the endpoint.
 */
export const takesEvent = (endpoint: string, event: string, types = `${endpoint}.events`): string => `(
  ${event}.type = ANY (${types}) AND (${endpoint}.leads = 'all' OR (${endpoint}.leads = 'test') = ${event}.test)
  AND ${passesFilter(`${endpoint}.filter`, `${event}.match`)}
)`
