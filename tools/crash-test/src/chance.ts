/** A random generator. The same seed gives the same sequence. */
export interface Chance {
  /** Returns a number from 0 (included) to 1 (excluded). */
  next(): number
  between(least: number, most: number): number
  pick<T>(choices: readonly T[]): T
}

/** Creates a generator with the algorithm mulberry32. */
export const createChance = (seed: number): Chance => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (least, most) => least + next() * (most - least),
    pick: (choices) => choices[Math.floor(next() * choices.length)]!,
  }
}
