import { randomInt } from 'node:crypto'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { cacheDirectory } from '@leadwire/embedded'

export interface Options {
  /** How long the test causes hazards. */
  minutes: number
  /** The seed of the random choices: which process, what happens to it, and when. */
  seed: number
  /** Whether machines are lost for good. Otherwise processes are killed and restarted. */
  machines: boolean
  /** Whether PostgreSQL's standby lags behind, so that a failover loses leads. */
  asynchronous: boolean
  /** The folder of the report. */
  out: string
}

export const usage = `npm run crash-test -- [options]
  --minutes N      minutes of kills and freezes (default: 10, or 3 with --machines)
  --seed N         repeats the random choices of a run (default: a random number)
  --machines       loses machines for good instead of killing processes; runs replicated stores, and two
                   copies of each service
  --asynchronous   like --machines, but PostgreSQL replicates two seconds late, so that leads are lost
  --out FOLDER     folder of crash-test.json and crash-test.md (default: .cache/crash-test)`

/** Reads the options. If some are invalid, throws an Error whose message lists all of them. */
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
