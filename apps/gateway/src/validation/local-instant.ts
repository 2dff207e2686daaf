import { Temporal } from '@js-temporal/polyfill'

const FORM = /^(\d{2})\/(\d{2})\/(\d{4}) (\d{2}):(\d{2})$/

const plainDateTime = (text: string): Temporal.PlainDateTime | undefined => {
  if (!FORM.test(text)) return undefined
  try {
    return Temporal.PlainDateTime.from(text.replace(FORM, '$3-$2-$1T$4:$5'))
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
