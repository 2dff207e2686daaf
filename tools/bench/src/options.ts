import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { cacheDirectory, repositoryRoot } from '@leadwire/embedded'

/** In the order in which they run: `cold-start` before there is a stack, and what kills a process last. */
export const scenarioNames = [
  ...([
    'cold-start',
    'retrieve',
    'list',
    'create',
    'sustained',
    'upload',
    'webhooks',
    'webhook-latency',
    'steady',
  ] as const),
  // What leaves work behind comes last.
  ...([
    'table-size',
    'find',
    'isolation',
    'memory',
    'polls',
    'schedule',
    'overload',
    'bystander',
    'copies',
    'duplicates',
    'history',
    'partitions',
  ] as const),
]

/** Takes long, or compares what is not built. */
const onlyByName = ['history', 'partitions']

export type ScenarioName = (typeof scenarioNames)[number]

export interface Options {
  only: Set<ScenarioName>
  rounds: number
  /** How long each contender is loaded in a round. */
  seconds: number
  /** Tables of ten million leads too. */
  huge: boolean
  quick: boolean
  profile: boolean
  /** Where results.md goes. */
  out: string
}

export const usage = `npm run bench -- [options]
  --only NAME[,NAME]  some parts: ${scenarioNames.join(', ')}; ${onlyByName.join(' and ')} only so
  --huge              tables of 10^7 leads or deliveries too (a quarter of an hour more, and 21 GB of disk)
  --profile           profile the services: OUT/profiles/*.cpuprofile
  --rounds N          interleaved rounds of each comparison (3)
  --seconds N         load of each contender in each round (4)
  --quick             short rounds and small tables, to see that everything works: no figures to go by
  --out FOLDER        where results.md goes (bench; with --only, --profile or --quick .cache/bench)`

/** Throws an Error whose message lists every error at once. */
export const readOptions = (args: string[], env: NodeJS.ProcessEnv): Options => {
  const flag = { type: 'boolean', default: false } as const
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: { only: text, rounds: text, seconds: text, out: text, huge: flag, quick: flag, profile: flag },
  })
  const { huge, quick, profile } = values
  const errors: string[] = []
  const count = (name: 'rounds' | 'seconds', fallback: number) => {
    const value = Number(values[name] ?? (quick ? 1 : fallback))
    if (!(value > 0 && value <= 1000))
      errors.push(`--${name} must be a number up to 1000, not "${values[name]}"`)
    return value
  }
  const [rounds, seconds] = [count('rounds', 3), count('seconds', 4)]
  const asked = values.only?.split(',') ?? scenarioNames.filter((name) => !onlyByName.includes(name))
  const isName = (name: string): name is ScenarioName => (scenarioNames as readonly string[]).includes(name)
  const unknown = asked.filter((name) => !isName(name))
  if (unknown.length > 0)
    errors.push(`--only knows no ${unknown.join(', ')}; it knows ${scenarioNames.join(', ')}`)
  if (errors.length > 0) throw new Error(errors.join('\n'))
  const isPart = values.only !== undefined || quick || profile
  const standard = isPart ? join(cacheDirectory(env), 'bench') : join(repositoryRoot, 'bench')
  const out = values.out ? resolve(values.out) : standard
  return { only: new Set(asked.filter(isName)), rounds, seconds, huge, quick, profile, out }
}
