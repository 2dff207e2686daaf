import { randomInt } from 'node:crypto'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { cacheDirectory } from '@leadwire/embedded'

export interface Options {
  /** How long processes are killed. */
  minutes: number
  /** What is drawn by chance is drawn from it: which process, how, and when. */
  seed: number
  /** Where the report goes. */
  out: string
}

export const usage = `npm run crash-test -- [options]
  --minutes N    how long processes are killed (10)
  --seed N       draws the same kills again (by chance)
  --out FOLDER   where crash-test.json and crash-test.md go (.cache/crash-test)`

/** Throws an Error whose message lists every fault at once. */
export const readOptions = (args: string[], env: NodeJS.ProcessEnv): Options => {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args, options: { minutes: text, seed: text, out: text } })
  const minutes = Number(values.minutes ?? 10)
  const seed = Number(values.seed ?? randomInt(2 ** 31))
  const faults = [
    minutes > 0 && minutes <= 1440 ? [] : ['--minutes must be a number up to 1440'],
    Number.isSafeInteger(seed) && seed >= 0 ? [] : ['--seed must be a whole number'],
  ].flat()
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return { minutes, seed, out: values.out ? resolve(values.out) : join(cacheDirectory(env), 'crash-test') }
}
