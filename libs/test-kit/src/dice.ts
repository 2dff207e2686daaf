import fc, { type GeneratorValue } from 'fast-check'

/** What a test draws by chance. */
export interface Dice {
  /** A whole number below `limit`. */
  below: (limit: number) => number
  pick: <T>(choices: readonly T[]) => T
}

/** Dice from the numbers of a fast-check property (`fc.gen()`), which tells the seed and what was drawn when it fails. */
export const diceOf = (draw: GeneratorValue): Dice => {
  const below = (limit: number) => draw(fc.nat, { max: limit - 1 })
  return { below, pick: (choices) => choices[below(choices.length)]! }
}
