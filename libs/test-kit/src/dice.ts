import fc, { type GeneratorValue } from 'fast-check'

/** The random choices of a test. */
export interface Dice {
  /** A whole number below `limit`. */
  below: (limit: number) => number
  pick: <T>(choices: readonly T[]) => T
}

/**
 * Makes dice from the generator of a fast-check property (`fc.gen()`). If the property fails, fast-check
 * reports the seed and the drawn numbers.
 */
export const createDice = (draw: GeneratorValue): Dice => {
  const below = (limit: number) => draw(fc.nat, { max: limit - 1 })
  return { below, pick: (choices) => choices[below(choices.length)]! }
}
