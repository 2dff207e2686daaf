const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const UK_DAY = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone: 'Europe/London' })
const UK_HOUR = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', timeZone: 'Europe/London' })
const SHOWN_DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** Returns the day of an instant in the United Kingdom, such as `2026-12-24`. */
export const findUkDay = (ms: number): string => UK_DAY.format(ms)

/** Returns the day that is `count` days after another day. */
export const addDays = (day: string, count: number): string =>
  new Date(Date.parse(day) + count * DAY_MS).toISOString().slice(0, 10)

/** Returns when a day begins in the United Kingdom, in milliseconds. */
export const findStartOfUkDay = (day: string): number => {
  const midnight = Date.parse(day)
  // In summer, midnight UTC is one o'clock in the United Kingdom.
  return UK_HOUR.format(midnight) === '00' ? midnight : midnight - HOUR_MS
}

/** Formats a day such as `2026-12-24` as "24 Dec". */
export const formatDay = (day: string): string => SHOWN_DAY.format(Date.parse(day))

/** Returns `count` days up to and including `last`. */
export const listDays = (last: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => addDays(last, index + 1 - count))
