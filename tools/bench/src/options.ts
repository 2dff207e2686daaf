import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { cacheDirectory, repositoryRoot } from '@leadwire/embedded'

/**
 * The scenarios in the order of a run. cold-start runs first, before the stack for the other scenarios
 * starts. The last scenarios leave unfinished work behind, which would disturb others.
 */
export const scenarioNames = [
  'cold-start',
  'retrieve',
  'list',
  'create',
  'sustained',
  'upload',
  'webhooks',
  'webhook-latency',
  'steady',
  'find',
  'isolation',
  'memory',
  'overload',
  'bystander',
] as const

export type ScenarioName = (typeof scenarioNames)[number]

export interface Options {
  only: Set<ScenarioName>
  rounds: number
  /** How long a round loads each contender. */
  seconds: number
  /** Whether `find` has an account of 10,000,000 leads instead of 20,000, and also filters and searches. */
  huge: boolean
  quick: boolean
  profile: boolean
  /** The folder of results.md. */
  out: string
}

export const usage = `npm run bench -- [options]
  --only NAME[,NAME]  runs only these scenarios: ${scenarioNames.join(', ')}
  --huge              filters and searches 10,000,000 leads; takes half an hour more, and 45 GB of disk
  --profile           profiles the services; writes OUT/profiles/*.cpuprofile
  --rounds N          number of interleaved rounds of each comparison (default: 3)
  --seconds N         seconds of load on each contender in a round (default: 3)
  --quick             runs briefly on small tables to check that everything works; the figures mean nothing
  --out FOLDER        folder of results.md (default: bench, or .cache/bench with --only, --profile or --quick)`

/** Reads the options. If some are invalid, throws an Error whose message lists all of them. */
export const readOptions = (args: string[], env: NodeJS.ProcessEnv): Options => {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      out: { type: 'string' },
      huge: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
    },
  })
  const { huge, quick, profile } = values
  const errors: string[] = []
  const readNumber = (name: 'rounds' | 'seconds', standard: number) => {
    const value = Number(values[name] ?? (quick ? 1 : standard))
    if (!(value > 0 && value <= 1000))
      errors.push(`--${name} must be a positive number up to 1000, not "${values[name]}"`)
    return value
  }
  const rounds = readNumber('rounds', 3)
  const seconds = readNumber('seconds', 3)
  const names = values.only?.split(',') ?? [...scenarioNames]
  const unknown = names.filter((name) => !isScenarioName(name))
  if (unknown.length > 0)
    errors.push(`there is no scenario ${unknown.join(', ')}; --only accepts ${scenarioNames.join(', ')}`)
  if (errors.length > 0) throw new Error(errors.join('\n'))
  // Only a whole run replaces the results that are committed in the repository.
  const isPartial = values.only !== undefined || quick || profile
  const standardOut = isPartial ? join(cacheDirectory(env), 'bench') : join(repositoryRoot, 'bench')
  return {
    only: new Set(names.filter(isScenarioName)),
    rounds,
    seconds,
    huge,
    quick,
    profile,
    out: values.out ? resolve(values.out) : standardOut,
  }
}

const isScenarioName = (name: string): name is ScenarioName =>
  (scenarioNames as readonly string[]).includes(name)
