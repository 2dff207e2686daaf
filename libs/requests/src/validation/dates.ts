import { Temporal } from '@js-temporal/polyfill'
import { whenValid } from '@leadwire/service-kit/runtime'
import { FIRST_YEAR, LAST_YEAR } from './instants'

/** Returns whether a text is a date such as 2026-11-21, with a year from FIRST_YEAR to LAST_YEAR. */
export const isDate = (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const date = whenValid(() => Temporal.PlainDate.from(text))
  return date !== undefined && date.year >= FIRST_YEAR && date.year <= LAST_YEAR
}

/** Returns the present date in a time zone. */
export const findToday = (timeZone: string): string => Temporal.Now.plainDateISO(timeZone).toString()

/** Returns the date that is `days` after a date, or before it if `days` is negative. */
export const addDays = (date: string, days: number): string =>
  Temporal.PlainDate.from(date).add({ days }).toString()

/** Returns the number of days in a period, including its first and its last day. */
export const countDays = (from: string, to: string): number =>
  Temporal.PlainDate.from(from).until(to, { largestUnit: 'day' }).days + 1
