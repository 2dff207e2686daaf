import { manualClock } from './manual-clock'

test('a manual clock goes only when told', () => {
  const clock = manualClock('2026-03-01T12:00:00Z')
  clock.advance(90_000)
  expect(clock.now().toISOString()).toBe('2026-03-01T12:01:30.000Z')
  clock.set(new Date(0))
  expect(clock.now().getTime()).toBe(0)
})
