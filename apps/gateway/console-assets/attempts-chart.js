import { h, svg } from './dom.js'
import { clock, number } from './format.js'

/** @typedef {import('./api.js').Hour} Hour */

const HOUR_MS = 3_600_000
const HOURS = 24

/** The last 24 hours by the clock, oldest first, those without an attempt too. @param {Hour[]} hours */
export const dayOf = (hours, now = Date.now()) => {
  const byTime = new Map(hours.map((one) => [Date.parse(one.hour), one]))
  const last = Math.floor(now / HOUR_MS) * HOUR_MS
  return Array.from({ length: HOURS }, (_, index) => {
    const start = last - (HOURS - 1 - index) * HOUR_MS
    return { start, succeeded: byTime.get(start)?.succeeded ?? 0, failed: byTime.get(start)?.failed ?? 0 }
  })
}

/** @param {{succeeded: number, failed: number}[]} hours */
export const totalOf = (hours) => ({
  succeeded: hours.reduce((sum, { succeeded }) => sum + succeeded, 0),
  failed: hours.reduce((sum, { failed }) => sum + failed, 0),
})

/** @param {ReturnType<typeof dayOf>[number]} hour */
const inWords = ({ start, succeeded, failed }) =>
  `${clock(start)}: ${number(succeeded)} succeeded, ${number(failed)} failed`

/** @param {number} count @param {number} most @param {number} room At least a pixel for what is not nothing. */
const lengthOf = (count, most, room) => (count === 0 ? 0 : Math.max(1.5, (count / most) * room))

/** The axis stands where both sides have room for their largest bar. @param {ReturnType<typeof dayOf>} day @param {number} height */
const scaleOf = (day, height) => {
  const up = Math.max(...day.map(({ succeeded }) => succeeded))
  const down = Math.max(...day.map(({ failed }) => failed))
  const most = Math.max(1, up + down)
  const axis = up + down === 0 ? height - 1 : Math.min(height - 3, Math.max(3, (up / most) * height))
  return { axis, up: Math.max(1, up), down: Math.max(1, down), height }
}

/**
 * Attempts an hour: those that succeeded stand on the axis, those that failed hang from it, so that it reads without
 * colours too.
 * @param {Hour[]} hours @param {{width: number, height: number, className?: string}} size
 */
export const attemptsChart = (hours, { width, height, className = '' }) => {
  const day = dayOf(hours)
  const { axis, up, down } = scaleOf(day, height)
  const step = width / HOURS
  const { succeeded, failed } = totalOf(day)
  const bars = day.map((hour, index) => {
    const x = (index * step + step * 0.14).toFixed(2)
    const bar = { x, width: (step * 0.72).toFixed(2), rx: Math.min(2, step / 6).toFixed(2) }
    const high = lengthOf(hour.succeeded, up, axis - 0.5)
    const deep = lengthOf(hour.failed, down, height - axis - 0.5)
    return svg(
      'g',
      {},
      svg('title', {}, inWords(hour)),
      svg('rect', { x: index * step, y: 0, width: step, height, class: 'touch' }),
      high > 0 && svg('rect', { ...bar, y: axis - high, height: high, class: 'good' }),
      deep > 0 && svg('rect', { ...bar, y: axis, height: deep, class: 'bad' }),
    )
  })
  return svg(
    'svg',
    {
      class: `chart ${className}`,
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': `Attempts in the last 24 hours: ${number(succeeded)} succeeded, ${number(failed)} failed`,
    },
    svg('line', { x1: 0, x2: width, y1: axis, y2: axis, class: 'axis' }),
    ...bars,
  )
}

/** The same numbers as a table. @param {Hour[]} hours */
export const attemptsTable = (hours) =>
  h(
    'details',
    { class: 'numbers' },
    h('summary', {}, 'The same as a table'),
    h(
      'table',
      {},
      h('caption', { class: 'unseen' }, 'Attempts by the hour'),
      h(
        'thead',
        {},
        h('tr', {}, ...['Hour', 'Succeeded', 'Failed'].map((name) => h('th', { scope: 'col' }, name))),
      ),
      h(
        'tbody',
        {},
        ...dayOf(hours).map(({ start, succeeded, failed }) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, clock(start)),
            h('td', {}, number(succeeded)),
            h('td', {}, number(failed)),
          ),
        ),
      ),
    ),
  )
