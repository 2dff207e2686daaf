import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from '../context'
import type { LoadResult } from '../load/jobs'
import { median } from '../load/percentiles'
import { type CpuTimes, cpuBetween, readCpu } from './cpu'

export type Round = LoadResult & {
  /** Microseconds for each request. */
  cpu: CpuTimes
}

export type Contender = {
  run: (seconds: number) => Promise<LoadResult>
  /** Processes beside the stack's whose time is of interest. */
  pids?: Record<string, number>
}

// A program's processor time for each request goes on falling for some 10 to 20 s of load, while its functions are compiled:
// to a third, seen on one connection. What serves for days is not to be judged by its first seconds.
const WARM_UP_SECONDS = 10

/** How long to load something before it is measured. */
export const warmUpSeconds = ({ options }: Context) => (options.quick ? options.seconds : WARM_UP_SECONDS)

/**
 * Loads the contenders in turn, again and again, so that whatever the machine does meanwhile happens to all of them;
 * every second round goes the other way round. Before, each is warmed up.
 */
export async function interleave<Name extends string>(
  context: Context,
  contenders: Record<Name, Contender>,
  { seconds = context.options.seconds, warmUp = warmUpSeconds(context) } = {},
): Promise<Record<Name, Round[]>> {
  const names = Object.keys(contenders) as Name[]
  const rounds = Object.fromEntries(names.map((name) => [name, [] as Round[]])) as Record<Name, Round[]>
  for (const name of names) await contenders[name].run(warmUp)
  for (let round = 0; round < context.options.rounds; round++) {
    for (const name of round % 2 === 0 ? names : [...names].reverse()) {
      await untilQuiet(context)
      rounds[name].push(await measured(context, contenders[name], seconds))
    }
  }
  return rounds
}

async function measured(context: Context, { run, pids = {} }: Contender, seconds: number): Promise<Round> {
  const others = { generator: context.generator.pid, ...pids }
  const before = await readCpu(context.stack, others)
  const result = await run(seconds)
  // What a request leaves to be done after its answer is part of its cost.
  await untilQuiet(context)
  const used = cpuBetween(before, await readCpu(context.stack, others))
  const cpu = Object.fromEntries(Object.entries(used).map(([name, time]) => [name, time / result.requests]))
  return { ...result, cpu }
}

const QUIET_SHARE = 0.1
const LOOK_MS = 300

/** Waits until the stack has done what it does after its answers: relaying, storing and sweeping events. */
export async function untilQuiet({ stack, leads }: Context): Promise<void> {
  for (let looks = 0; looks < 60; looks++) {
    const before = await readCpu(stack)
    await wait(LOOK_MS)
    const used = Object.values(cpuBetween(before, await readCpu(stack))).reduce((sum, time) => sum + time, 0)
    const [outbox] = await leads.rows<{ waiting: boolean }>('SELECT EXISTS (SELECT FROM outbox) AS waiting')
    if (!outbox!.waiting && used < QUIET_SHARE * LOOK_MS * 1000) return
  }
}

/** The median of each process's time over rounds. */
export function medianCpu(rounds: Round[]): CpuTimes {
  const names = Object.keys(rounds[0]?.cpu ?? {})
  return Object.fromEntries(names.map((name) => [name, median(rounds.map(({ cpu }) => cpu[name] ?? 0))]))
}
