import { eventually } from '@leadwire/test-kit'
import { createLogger } from './logger'
import { createLoops, type Round } from './loops'

const started: ReturnType<typeof createLoops>[] = []
afterEach(() => Promise.all(started.splice(0).map(({ stop }) => stop())))

/** Starts a loop that pauses for at most a minute (the limit of `createAlarm`), and counts its rounds. */
const counting = (work: (round: number) => Round) => {
  const loops = createLoops(createLogger({ service: 'spec', level: 'silent' }))
  started.push(loops)
  const state = { rounds: 0 }
  const wake = loops.run('counting', { pauseMs: 1, idleMs: 3_600_000 }, async () => {
    state.rounds += 1
    return work(state.rounds)
  })
  return { loops, state, wake }
}

test('runs again while there is more, and after a pause while something is left', async () => {
  const { state } = counting((round) => {
    if (round < 5) return true
    return round < 10 && 'pause'
  })
  await eventually(() => expect(state.rounds).toBeGreaterThanOrEqual(10))
})

test('a loop that has nothing to do pauses ever longer, and runs at once when it is woken', async () => {
  const { state, wake } = counting(() => false)
  // The pauses double up to a minute. Without a wake-up, the fortieth round would come only after 24 minutes.
  for (let round = 1; round <= 40; round += 1) {
    await eventually(() => expect(state.rounds).toBeGreaterThanOrEqual(round))
    wake()
  }
})

test('what wakes a loop during a round starts another', async () => {
  const { state, wake } = counting((round) => {
    if (round < 40) wake()
    return false
  })
  await eventually(() => expect(state.rounds).toBeGreaterThanOrEqual(40))
})

test('a loop that fails runs again', async () => {
  const { state } = counting((round) => {
    if (round < 20) throw new Error('not now')
    return false
  })
  await eventually(() => expect(state.rounds).toBeGreaterThanOrEqual(20))
})

test('stops while it sleeps', async () => {
  const { loops, state, wake } = counting(() => false)
  await eventually(() => expect(state.rounds).toBeGreaterThanOrEqual(8))
  await loops.stop()
  const { rounds } = state
  wake()
  expect(state.rounds).toBe(rounds)
})
