import { randomInt } from 'node:crypto'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { cacheDirectory } from '@leadwire/embedded'

export interface Options {
  /** How long processes are killed. */
  minutes: number
  /** What is drawn by chance is drawn from it: which process, how, and when. */
  seed: number
  /** Whether machines are lost for good, in place of processes that are started again. */
  machines: boolean
  /** Whether PostgreSQL's standby lags behind, and what it lacks is lost. */
  asynchronous: boolean
  /** Where the report goes. */
  out: string
}

export const usage = `npm run crash-test -- [options]
  --minutes N      how long processes are killed (10)
  --seed N         draws the same kills again (by chance)
  --machines       loses machines for good, of replicated stores and two copies of each service (in 3 minutes)
  --asynchronous   the same with a standby of PostgreSQL that is two seconds behind: leads are lost
  --out FOLDER     where crash-test.json and crash-test.md go (.cache/crash-test)`

/** Throws an Error whose message lists every error at once. */
export const readOptions = (args: string[], env: NodeJS.ProcessEnv): Options => {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    args,
    options: { minutes: text, seed: text, out: text, machines: flag, asynchronous: flag },
  })
  const { asynchronous } = values
  const machines = values.machines || asynchronous
  const minutes = Number(values.minutes ?? (machines ? 3 : 10))
  const seed = Number(values.seed ?? randomInt(2 ** 31))
  const errors = [
    minutes > 0 && minutes <= 1440 ? [] : ['--minutes must be a number up to 1440'],
    Number.isSafeInteger(seed) && seed >= 0 ? [] : ['--seed must be a whole number'],
  ].flat()
  if (errors.length > 0) throw new Error(errors.join('\n'))
  return {
    minutes,
    seed,
    machines,
    asynchronous,
    out: values.out ? resolve(values.out) : join(cacheDirectory(env), 'crash-test'),
  }
}
