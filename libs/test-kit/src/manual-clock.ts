export type ManualClock = {
  now(): Date
  advance(ms: number): void
  set(time: Date): void
}

/** A clock that moves only when the spec moves it. */
export function manualClock(start: Date | string = '2026-01-01T00:00:00Z'): ManualClock {
  let time = new Date(start).getTime()
  return {
    now: () => new Date(time),
    advance: (ms) => {
      time += ms
    },
    set: (to) => {
      time = to.getTime()
    },
  }
}
