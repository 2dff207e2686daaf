import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { cacheDirectory, repositoryRoot } from '@leadwire/embedded'
import { type ScenarioName, scenarioNames } from './scenarios/names'

export type Options = {
  only: Set<ScenarioName>
  rounds: number
  /** How long each contender is loaded in a round. */
  seconds: number
  /** Tables of ten million leads too. */
  huge: boolean
  quick: boolean
  /** Where results.md and the pictures go. */
  out: string
}

export const usage = `npm run bench -- [options]
  --only NAME[,NAME]  some parts: ${scenarioNames.join(', ')}
  --huge              tables of 10^7 leads too (a quarter of an hour more, and 21 GB of disk)
  --rounds N          interleaved rounds of each comparison (3)
  --seconds N         load of each contender in each round (4)
  --quick             short rounds and small tables, to see that everything works: no figures to go by
  --out FOLDER        where results.md goes (bench; with --only or --quick .cache/bench)`

/** @throws an Error whose message lists every fault at once */
export function readOptions(args: string[], env: NodeJS.ProcessEnv): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      huge: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      out: { type: 'string' },
    },
  })
  const faults: string[] = []
  const count = (name: string, text: string | undefined, fallback: number) => {
    const value = Number(text ?? fallback)
    if (!(value > 0 && value <= 1000)) faults.push(`--${name} must be a number up to 1000, not "${text}"`)
    return value
  }
  const rounds = count('rounds', values.rounds, values.quick ? 1 : 3)
  const seconds = count('seconds', values.seconds, values.quick ? 1 : 4)
  const asked = values.only?.split(',') ?? [...scenarioNames]
  const isName = (name: string): name is ScenarioName => (scenarioNames as readonly string[]).includes(name)
  const unknown = asked.filter((name) => !isName(name))
  if (unknown.length > 0)
    faults.push(`--only knows no ${unknown.join(', ')}; it knows ${scenarioNames.join(', ')}`)
  if (faults.length > 0) throw new Error(faults.join('\n'))
  const standard =
    values.only || values.quick ? join(cacheDirectory(env), 'bench') : join(repositoryRoot, 'bench')
  return {
    only: new Set(asked.filter(isName)),
    rounds,
    seconds,
    huge: values.huge,
    quick: values.quick,
    out: values.out ? resolve(values.out) : standard,
  }
}
