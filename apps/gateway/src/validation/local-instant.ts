import { Temporal } from '@js-temporal/polyfill'
import { whenValid } from '@leadwire/service-kit'

const FORM = /^(\d{2})\/(\d{2})\/(\d{4}) (\d{2}):(\d{2})$/

// Another year is a typing error.
export const FIRST_YEAR = 1900
export const LAST_YEAR = 2199

/** The instant of a `dd/mm/yyyy hh:mm` in UTC (interface: Schedule Appointment); undefined for a time that does not exist. */
export const localInstant = (text: string, timeZone: string): string | undefined => {
  if (!FORM.test(text)) return undefined
  const plain = whenValid(() => Temporal.PlainDateTime.from(text.replace(FORM, '$3-$2-$1T$4:$5')))
  if (!plain || plain.year < FIRST_YEAR || plain.year > LAST_YEAR) return undefined
  const zoned = plain.toZonedDateTime(timeZone, { disambiguation: 'earlier' })
  // In the spring gap 'earlier' gives another time.
  return zoned.toPlainDateTime().equals(plain) ? zoned.toInstant().toString() : undefined
}
