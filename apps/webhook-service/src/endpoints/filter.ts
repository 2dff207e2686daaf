import {
  EndpointFilter,
  emailKey,
  FILTER_KEYS,
  type FilterKey,
  filterRecord,
  isEmail,
  LEAD_STATUSES,
  MAX_FILTER_VALUES,
  type Match,
  POSTCODE_START,
  postcodeBeginning,
  VISITOR_REFERRERS,
} from '@leadwire/contracts'

// Columns: `endpoints.filter` has the keys that the filter names, each with its values; `events.match` has the lead's value of each key.
// Both are NULL where there is nothing to compare. Postcodes and e-mails are normalised in both.

/** The column of a filter; NULL when it names nothing. */
export const filterColumn = (filter: EndpointFilter | undefined): string | null => {
  const record = filterRecord(filter)
  return record && JSON.stringify(record)
}

export const filterOfColumn = (
  filter: ReturnType<typeof filterRecord> | undefined,
): EndpointFilter | undefined =>
  filter ? EndpointFilter.fromPartial({ ...filter, userEmail: filter.user_email ?? [] }) : undefined

/** The column of what an event says of its lead. */
export const matchColumn = (match: Match | undefined): string | null =>
  match === undefined
    ? null
    : JSON.stringify({
        ...{ status: match.status, referrer: match.referrer, postcode: match.postcode },
        user_email: match.userEmail && emailKey(match.userEmail),
      })

/** A filter with its values as they are compared, each once. */
export const normalFilter = ({ status, referrer, postcode, userEmail }: EndpointFilter): EndpointFilter => ({
  status: [...new Set(status)],
  referrer: [...new Set(referrer)],
  postcode: [...new Set(postcode.map(postcodeBeginning))],
  userEmail: [...new Set(userEmail.map(emailKey))],
})

const oneOf = (known: readonly string[]) => ({
  isValid: (value: string) => known.includes(value),
  rule: `must be one or more of ${known.join(', ')}`,
})

const VALUES: Record<FilterKey, { isValid: (value: string) => boolean; rule: string }> = {
  status: oneOf(LEAD_STATUSES),
  referrer: oneOf(VISITOR_REFERRERS),
  postcode: { isValid: (value) => POSTCODE_START.test(value), rule: 'must be starts of UK postcodes' },
  user_email: {
    isValid: (value) => [...value].length <= 255 && isEmail(value),
    rule: 'must be email addresses of at most 255 characters',
  },
}

/** Why a normalised filter may not be stored, by the field. */
export const filterViolations = (filter: EndpointFilter | undefined): Record<string, string | true> =>
  Object.fromEntries(
    Object.entries(filterRecord(filter) ?? {}).map(([key, values]) => {
      const { isValid, rule } = VALUES[key as FilterKey]
      if (values.length > MAX_FILTER_VALUES)
        return [`filter.${key}`, `must not have more than ${MAX_FILTER_VALUES} values`]
      return [`filter.${key}`, values.every(isValid) || rule]
    }),
  )

/** SQL: whether a match has one of the values of a key that the filter may name. A prefix costs the same however many are listed. */
const passesKey = (key: FilterKey, filter: string, match: string): string => {
  const found =
    key === 'postcode'
      ? `?| ARRAY (SELECT left(${match} ->> 'postcode', n) FROM generate_series(1, length(${match} ->> 'postcode')) n)`
      : `? (${match} ->> '${key}')`
  return `(NOT ${filter} ? '${key}' OR coalesce(${filter} -> '${key}' ${found}, false))`
}

/** SQL: whether an event with the column `match` passes the filter of an endpoint. An event without one passes: it must not be lost. */
export const passesFilter = (filter: string, match: string): string =>
  `(${filter} IS NULL OR ${match} IS NULL OR ${FILTER_KEYS.map((key) => passesKey(key, filter, match)).join(' AND ')})`

/** SQL: the keys that an event does not pass. */
export const failedKeys = (filter: string, match: string): string => {
  const failed = FILTER_KEYS.map((key) => `CASE WHEN NOT ${passesKey(key, filter, match)} THEN '${key}' END`)
  return `array_remove(ARRAY[${failed.join(', ')}], NULL)`
}
