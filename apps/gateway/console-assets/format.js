import { h } from './dom.js'

const MOMENT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const RELATIVE = new Intl.RelativeTimeFormat('en-GB', { numeric: 'always' })
const COUNT = new Intl.NumberFormat('en-GB')

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

/** @param {number} count */
export const number = (count) => COUNT.format(count)

/** @param {number} ms @param {number} [now] */
export const fromNow = (ms, now = Date.now()) => {
  const distance = ms - now
  if (Math.abs(distance) < 1000) return 'now'
  const [unit, size] = UNITS.find(([, unitMs]) => Math.abs(distance) >= unitMs) ?? ['second', 1000]
  return RELATIVE.format(Math.trunc(distance / size), unit)
}

/** @param {string | number} when In the reader's own time zone. */
export const moment = (when) => MOMENT.format(new Date(when))

/** @param {string | number} when */
export const clock = (when) => CLOCK.format(new Date(when))

/** A time as "5 minutes ago", which `tick` keeps true; the exact one shows on hover. @param {string} iso */
export const ago = (iso) =>
  h('time', { datetime: iso, title: `${moment(iso)} (${iso})`, 'data-ago': true }, fromNow(Date.parse(iso)))

/** @param {string} iso */
export const exactly = (iso) => h('time', { datetime: iso, title: iso }, moment(iso))

/** Brings every relative time on the page up to date. */
export const tick = () => {
  for (const time of document.querySelectorAll('time[data-ago]')) {
    const text = fromNow(Date.parse(time.getAttribute('datetime') ?? ''))
    if (time.textContent !== text) time.textContent = text
  }
}

/** @param {number} ms A span as "84 ms", "1.2 s", "5 min", "1 h 30 min". */
export const span = (ms) => {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const minutes = Math.round(ms / 60_000)
  if (minutes < 60) return `${minutes} min`
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes / 60} h`
}

/** @param {{succeeded: number, failed: number}} counts Never 100 % when one failed, never 0 % when one succeeded. */
export const successRate = ({ succeeded, failed }) => {
  const all = succeeded + failed
  if (all === 0) return '–'
  const tenths = Math.round((succeeded / all) * 1000)
  const bounded = Math.min(failed ? 999 : 1000, Math.max(succeeded ? 1 : 0, tenths))
  return `${bounded % 10 ? (bounded / 10).toFixed(1) : bounded / 10} %`
}
