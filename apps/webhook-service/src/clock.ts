/** Where due times, claims and attempts take their time from. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
