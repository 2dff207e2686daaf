import { Temporal } from '@js-temporal/polyfill'
import { findDays } from './instants'

test.each([
  ['2026-11-30T23:59:59.999Z', 1, '2026-11-30T00:00:00Z', '2026-12-01T00:00:00Z'],
  ['2026-06-30T23:30:00Z', 1, '2026-06-30T23:00:00Z', '2026-07-01T23:00:00Z'],
  // The clocks go forward on 29 March and back on 25 October.
  ['2026-03-29T12:00:00Z', 1, '2026-03-29T00:00:00Z', '2026-03-29T23:00:00Z'],
  ['2026-10-22T12:00:00Z', 7, '2026-10-21T23:00:00Z', '2026-10-29T00:00:00Z'],
])('at %s, %i days in London are %s to %s', (now, days, start, end) => {
  expect(findDays(days, 'Europe/London', Temporal.Instant.from(now))).toEqual({ start, end })
})
