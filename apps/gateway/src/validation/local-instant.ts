import { Temporal } from '@js-temporal/polyfill'

const FORM = /^(\d{2})\/(\d{2})\/(\d{4}) (\d{2}):(\d{2})$/

// Another year is a typing error.
export const FIRST_YEAR = 1900
export const LAST_YEAR = 2199

const plainDateTime = (text: string): Temporal.PlainDateTime | undefined => {
  if (!FORM.test(text)) return undefined
  try {
    const plain = Temporal.PlainDateTime.from(text.replace(FORM, '$3-$2-$1T$4:$5'))
    return plain.year < FIRST_YEAR || plain.year > LAST_YEAR ? undefined : plain
  } catch {
    return undefined
  }
}

/**
 * The instant of a `dd/mm/yyyy hh:mm` in a time zone, as ISO 8601 in UTC (interface: Schedule Appointment). Undefined for a date that
 * does not exist or is centuries away, and for a time that the clocks skip in spring. Of a time that they repeat in autumn, the first
 * counts.
 */
export const localInstant = (text: string, timeZone: string): string | undefined => {
  const plain = plainDateTime(text)
  if (!plain) return undefined
  const zoned = plain.toZonedDateTime(timeZone, { disambiguation: 'earlier' })
  // In the spring gap 'earlier' gives another time.
  if (!zoned.toPlainDateTime().equals(plain)) return undefined
  return zoned.toInstant().toString()
}
