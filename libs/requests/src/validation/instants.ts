import { Temporal } from '@js-temporal/polyfill'
import { whenValid } from '@leadwire/service-kit/runtime'

/** Returns whether a text is an instant in ISO 8601 with an offset, such as 2026-03-29T01:30:00Z. */
export const isInstant = (text: string): boolean =>
  /^(?!0000)\d{4}-/.test(text) && whenValid(() => Temporal.Instant.from(text)) !== undefined

/**
 * Returns an instant in UTC, truncated to microseconds. PostgreSQL would round instead, which would move the
 * last instant of the year 9999 to the year 10000.
 */
export const truncateInstant = (instant: string): string =>
  Temporal.Instant.from(instant).round({ smallestUnit: 'microsecond', roundingMode: 'trunc' }).toString()

// A year outside this range counts as a typing error.
export const FIRST_YEAR = 1900
export const LAST_YEAR = 2199

/**
 * Returns the start of the present day in a time zone, and the start of the day that is `days` later, as
 * instants in UTC.
 */
export const findDays = (days: number, timeZone: string, now = Temporal.Now.instant()) => {
  const today = now.toZonedDateTimeISO(timeZone).startOfDay()
  return { start: today.toInstant().toString(), end: today.add({ days }).toInstant().toString() }
}

const LOCAL_MINUTE = /^(\d{2})\/(\d{2})\/(\d{4}) (\d{2}):(\d{2})$/

/**
 * Parses `dd/mm/yyyy hh:mm` (the lead API, section Schedule Appointment). Returns the instant in UTC. Returns
 * undefined for a time that does not exist, for a year outside FIRST_YEAR to LAST_YEAR, and for any other
 * text.
 */
export const parseLocalInstant = (text: string, timeZone: string): string | undefined => {
  if (!LOCAL_MINUTE.test(text)) return undefined
  const plain = whenValid(() => Temporal.PlainDateTime.from(text.replace(LOCAL_MINUTE, '$3-$2-$1T$4:$5')))
  if (!plain || plain.year < FIRST_YEAR || plain.year > LAST_YEAR) return undefined
  const zoned = plain.toZonedDateTime(timeZone, { disambiguation: 'earlier' })
  // A time that the clock skips in spring does not exist. `toZonedDateTime` moves such a time, so the result
  // differs, and the time is refused.
  return zoned.toPlainDateTime().equals(plain) ? zoned.toInstant().toString() : undefined
}

const TIME = String.raw`[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?`
const WITH_OFFSET = new RegExp(String.raw`^\d{4}-\d{2}-\d{2}${TIME}(?:Z|[+-]\d{2}:?\d{2})$`, 'i')
const LOCAL = new RegExp(String.raw`^\d{4}-\d{2}-\d{2}(?:${TIME})?$`, 'i')
// The day comes first, as in the lead API.
const BRITISH = new RegExp(String.raw`^(\d{1,2})/(\d{1,2})/(\d{4})((?:${TIME})?)$`)

const parseAnyInstant = (text: string, timeZone: string): Temporal.Instant | undefined => {
  const iso = text.replace(
    BRITISH,
    (_text, day: string, month: string, year: string, time: string) =>
      `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}${time}`,
  )
  if (WITH_OFFSET.test(iso)) return whenValid(() => Temporal.Instant.from(iso))
  if (!LOCAL.test(iso)) return undefined
  return whenValid(() => Temporal.PlainDateTime.from(iso).toZonedDateTime(timeZone).toInstant())
}

/**
 * Parses a time in the past. Returns the instant in UTC with microseconds. `timeZone` is the zone of times
 * without an offset. Returns undefined for a time in the future, for a year before 1900, and for any other
 * text.
 */
export const readPastInstant = (text: string, timeZone: string): string | undefined => {
  const instant = parseAnyInstant(text, timeZone)
  if (!instant || Temporal.Instant.compare(instant, Temporal.Now.instant()) > 0) return undefined
  const shown = instant.toString({ smallestUnit: 'microsecond', roundingMode: 'trunc' })
  return shown >= String(FIRST_YEAR) ? shown : undefined
}
