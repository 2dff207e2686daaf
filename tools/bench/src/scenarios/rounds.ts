import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from '../context'
import { type CpuTimes, cpuBetween, readCpu } from '../measure/cpu'
import { totalOf } from '../measure/statistics'

/** With the stack's microseconds for each request. */
export type Round<Result> = Result & { cpu: CpuTimes }

type Run<Result> = (seconds: number) => Promise<Result>

// A program's processor time for each request goes on falling for some 10 to 20 s of load, while its functions are
// compiled: to a third, seen on one connection. What serves for days is not measured in its first seconds.
const WARM_UP_SECONDS = 10

/** How long to load something before it is measured. */
export const warmUpSeconds = ({ options }: Context) => (options.quick ? options.seconds : WARM_UP_SECONDS)

/**
 * Loads the contenders in turn, again and again, so that whatever the machine does meanwhile happens to all of them;
 * every second round goes the other way round. Before, each is warmed up.
 */
export const interleave = async <Name extends string, Result extends { requests: number }>(
  context: Context,
  contenders: Record<Name, Run<Result>>,
  { seconds = context.options.seconds, warmUp = warmUpSeconds(context) } = {},
): Promise<Record<Name, Round<Result>[]>> => {
  const names = Object.keys(contenders) as Name[]
  const rounds = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    Round<Result>[]
  >
  for (const name of names) await contenders[name](warmUp)
  for (let round = 0; round < context.options.rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed())
      rounds[name].push(await measured(context, () => contenders[name](seconds)))
  }
  return rounds
}

/** What a request leaves to be done after its answer is part of its cost. `others` are processes beside the stack's, by name. */
export const measured = async <Result extends { requests: number }>(
  context: Context,
  work: () => Promise<Result>,
  others?: Record<string, number>,
): Promise<Round<Result>> => {
  await untilQuiet(context)
  const before = await readCpu(context.stack, others)
  const result = await work()
  await untilQuiet(context)
  const used = cpuBetween(before, await readCpu(context.stack, others))
  const cpu = Object.fromEntries(Object.entries(used).map(([name, time]) => [name, time / result.requests]))
  return { ...result, cpu }
}

const QUIET_SHARE = 0.1
const LOOK_MS = 300

/** Waits until the stack has done what it does after its answers: relaying, storing and clearing events. */
export const untilQuiet = async ({ stack, leads }: Context): Promise<void> => {
  for (let polls = 0; polls < 60; polls++) {
    const before = await readCpu(stack)
    await wait(LOOK_MS)
    const used = totalOf(cpuBetween(before, await readCpu(stack)))
    const [outbox] = await leads.rows<{ waiting: boolean }>('SELECT EXISTS (SELECT FROM outbox) AS waiting')
    if (!outbox!.waiting && used < QUIET_SHARE * LOOK_MS * 1000) return
  }
}
