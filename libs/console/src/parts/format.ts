const MOMENT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const RELATIVE = new Intl.RelativeTimeFormat('en-GB', { numeric: 'always' })
const COUNT = new Intl.NumberFormat('en-GB')

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

export const formatNumber = (count: number): string => COUNT.format(count)

/** Formats a size such as "1.2 MB". */
export const formatBytes = (count: number): string => {
  if (count < 1000) return `${count} bytes`
  if (count < 1_000_000) return `${(count / 1000).toFixed(1)} kB`
  return `${(count / 1_000_000).toFixed(1)} MB`
}

/** Formats a number with its noun, such as "3 deliveries" or "1 delivery". */
export const formatCount = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

/** Formats the distance between two instants, such as "5 minutes ago". */
export const formatDistance = (ms: number, now: number): string => {
  const distance = ms - now
  if (Math.abs(distance) < 1000) return 'now'
  const [unit, size] = UNITS.find(([, unitMs]) => Math.abs(distance) >= unitMs) ?? ['second', 1000]
  return RELATIVE.format(Math.trunc(distance / size), unit)
}

/** Formats an instant in the user's time zone. */
export const formatInstant = (when: string | number): string => MOMENT.format(new Date(when))

const UK = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'Europe/London',
})

/** Formats an instant in the time zone of the United Kingdom, which appointments use. */
export const formatUkInstant = (when: string): string => UK.format(new Date(when))

const UK_LOCAL = new Intl.DateTimeFormat('sv-SE', {
  dateStyle: 'short',
  timeStyle: 'short',
  timeZone: 'Europe/London',
})

/**
 * Formats an instant as the value of a date field, such as `2026-12-24T14:30`. Uses the time zone of the
 * United Kingdom.
 */
export const formatUkField = (when: string): string => UK_LOCAL.format(new Date(when)).replace(' ', 'T')

/** Returns the URL that calls a telephone number. */
export const formatCallUrl = (number: string): string => `tel:${number.replace(/[^+\d]/g, '')}`

/** Converts the value of a date field to the format of the API: `2026-12-24T14:30` to `24/12/2026 14:30`. */
export const formatApiDate = (local: string): string => {
  const [year, month, day, time] = local.split(/[-T]/)
  return `${day}/${month}/${year} ${time}`
}

/** Returns whether the value of a date field in the time zone of the United Kingdom has passed. */
export const isPastUkField = (local: string): boolean => local < formatUkField(new Date().toISOString())

/** The maximum of date fields. Without a maximum, browsers accept six-digit years, which the API rejects. */
export const LAST_MINUTE = '9999-12-31T23:59'

/** Formats the time of day of an instant in the user's time zone. */
export const formatClock = (when: string | number): string => CLOCK.format(new Date(when))

/** Formats a duration such as "84 ms", "1.2 s", "5 min" or "1 h 30 min". */
export const formatDuration = (ms: number): string => {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const minutes = Math.round(ms / 60_000)
  if (minutes < 60) return `${minutes} min`
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes / 60} h`
}

export interface Counts {
  succeeded: number
  failed: number
}

/**
 * Formats a success rate in percent. The result is below 100 % after any failure and above 0 % after any
 * success.
 */
export const formatSuccessRate = ({ succeeded, failed }: Counts): string => {
  const all = succeeded + failed
  if (all === 0) return '–'
  const tenths = Math.round((succeeded / all) * 1000)
  const least = succeeded > 0 ? 1 : 0
  const most = failed > 0 ? 999 : 1000
  const bounded = Math.min(most, Math.max(least, tenths))
  return `${bounded % 10 ? (bounded / 10).toFixed(1) : bounded / 10} %`
}
