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

export const number = (count: number): string => COUNT.format(count)

/** "1.2 MB" */
export const bytes = (count: number): string =>
  count < 1000
    ? `${count} bytes`
    : count < 1_000_000
      ? `${(count / 1000).toFixed(1)} kB`
      : `${(count / 1_000_000).toFixed(1)} MB`

/** "3 deliveries", "1 delivery". */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`

export const fromNow = (ms: number, now: number): string => {
  const distance = ms - now
  if (Math.abs(distance) < 1000) return 'now'
  const [unit, size] = UNITS.find(([, unitMs]) => Math.abs(distance) >= unitMs) ?? ['second', 1000]
  return RELATIVE.format(Math.trunc(distance / size), unit)
}

/** In the reader's own time zone. */
export const moment = (when: string | number): string => MOMENT.format(new Date(when))

const UK = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'Europe/London',
})

/** On the clocks of the United Kingdom, by which appointments are made. */
export const ukMoment = (when: string): string => UK.format(new Date(when))

const UK_LOCAL = new Intl.DateTimeFormat('sv-SE', {
  dateStyle: 'short',
  timeStyle: 'short',
  timeZone: 'Europe/London',
})

/** The same as `2026-12-24T14:30`, for a field. */
export const ukLocal = (when: string): string => UK_LOCAL.format(new Date(when)).replace(' ', 'T')

/** The last minute a field takes: browsers let a year of six digits be typed, which is no date of the API. */
export const LAST_MINUTE = '9999-12-31T23:59'

export const clock = (when: string | number): string => CLOCK.format(new Date(when))

/** A span as "84 ms", "1.2 s", "5 min", "1 h 30 min". */
export const span = (ms: number): string => {
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

/** Never 100 % when one failed, never 0 % when one succeeded. */
export const successRate = ({ succeeded, failed }: Counts): string => {
  const all = succeeded + failed
  if (all === 0) return '–'
  const tenths = Math.round((succeeded / all) * 1000)
  const bounded = Math.min(failed ? 999 : 1000, Math.max(succeeded ? 1 : 0, tenths))
  return `${bounded % 10 ? (bounded / 10).toFixed(1) : bounded / 10} %`
}
