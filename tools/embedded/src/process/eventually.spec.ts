import { eventually } from './eventually'
import { manualClock } from './manual-clock'

test('eventually answers with the first answer that is no error', async () => {
  let calls = 0
  const answer = await eventually(
    () => {
      if (++calls < 3) throw new Error('not yet')
      return calls
    },
    { everyMs: 1 },
  )
  expect(answer).toBe(3)
})

test('eventually gives up with the last error and what was waited for', async () => {
  const never = () => {
    throw new Error('still red')
  }
  const waiting = eventually(never, { timeoutMs: 30, everyMs: 5, describe: 'waiting for green' })
  await expect(waiting).rejects.toThrow('after 30 ms of waiting for green: still red')
})

test('a manual clock goes only when told', () => {
  const clock = manualClock('2026-03-01T12:00:00Z')
  clock.advance(90_000)
  expect(clock.now().toISOString()).toBe('2026-03-01T12:01:30.000Z')
  clock.set(new Date(0))
  expect(clock.now().getTime()).toBe(0)
})
