import { Temporal } from '@js-temporal/polyfill'

const FORM = /^(\d{2})\/(\d{2})\/(\d{4}) (\d{2}):(\d{2})$/

const plainDateTime = (text: string): Temporal.PlainDateTime | undefined => {
  const match = FORM.exec(text)
  if (!match) return undefined
  const [day, month, year, hour, minute] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ]
  try {
    return Temporal.PlainDateTime.from({ year, month, day, hour, minute }, { overflow: 'reject' })
  } catch {
    return undefined
  }
}

/**
 * The instant of a `dd/mm/yyyy hh:mm` on the clocks of a time zone, ISO 8601 in UTC (interface: Schedule Appointment).
 *
 * Undefined for a date that does not exist and for a time that the clocks skip in spring. When the clocks go back in
 * autumn and a time comes twice, the earlier one is meant.
 */
export const localInstant = (text: string, timeZone: string): string | undefined => {
  const plain = plainDateTime(text)
  if (!plain) return undefined
  const zoned = plain.toZonedDateTime(timeZone, { disambiguation: 'earlier' })
  // In the gap 'earlier' is an hour off: what comes back is not what was given.
  if (!zoned.toPlainDateTime().equals(plain)) return undefined
  const instant = zoned.toInstant().toString()
  // Years 0 and 10000 have other spellings in ISO 8601, and no place in PostgreSQL's.
  return /^(?!0000)\d{4}-/.test(instant) ? instant : undefined
}
