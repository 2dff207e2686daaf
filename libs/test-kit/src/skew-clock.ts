/// <reference types="jest" />

const TIMERS = [
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
  'setImmediate',
  'clearImmediate',
]
const OTHERS = ['hrtime', 'nextTick', 'performance', 'queueMicrotask']

/**
 * Sets the wall clock of this process ahead by `ms` milliseconds, or back if `ms` is negative. The monotonic
 * clock and timers stay real. `jest.useRealTimers()` restores the wall clock.
 */
export const skewClock = (ms: number): void => {
  jest.useFakeTimers({
    now: Date.now() + ms,
    advanceTimers: true,
    doNotFake: [...TIMERS, ...OTHERS] as never,
  })
}
