import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from '../context'
import { type CpuTimes, readCpu, subtractCpu } from '../measure/cpu'
import { sumValues } from '../measure/statistics'

/** A result with the stack's processor time for each request, in microseconds. */
export type Round<Result> = Result & { cpu: CpuTimes }

// V8 compiles functions while they run, so the processor time of a request falls during the first 10 to 20 s
// of load. On one connection it falls to a third. After the warm-up, the figures are like those of services
// that have run for days.
const WARM_UP_SECONDS = 10

/** Returns how many seconds to load a contender before its measurement. */
export const chooseWarmUp = ({ options }: Context): number => (options.quick ? 1 : WARM_UP_SECONDS)

/**
 * Warms up each contender, then loads the contenders in turn for several rounds, so that other work on the
 * machine affects all of them. Every second round runs in the reverse order.
 */
export const interleave = async <Name extends string, Result extends { requests: number }>(
  context: Context,
  contenders: Record<Name, (seconds: number) => Promise<Result>>,
  { seconds = context.options.seconds, warmUp = chooseWarmUp(context) } = {},
): Promise<Record<Name, Round<Result>[]>> => {
  const names = Object.keys(contenders) as Name[]
  const results = {} as Record<Name, Round<Result>[]>
  for (const name of names) {
    results[name] = []
    await contenders[name](warmUp)
  }
  await waitUntilQuiet(context)
  for (let round = 0; round < context.options.rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed())
      results[name].push(await measureCpu(context, () => contenders[name](seconds)))
  }
  return results
}

/**
 * Runs `work` on a quiet stack, and waits until the stack is quiet again. Adds the processor time for each
 * request, which includes the work that the stack does after its responses.
 */
export const measureCpu = async <Result extends { requests: number }>(
  context: Context,
  work: () => Promise<Result>,
): Promise<Round<Result>> => {
  const before = await readCpu(context.stack)
  const result = await work()
  await waitUntilQuiet(context)
  const used = subtractCpu(await readCpu(context.stack), before)
  const cpu = Object.fromEntries(Object.entries(used).map(([name, time]) => [name, time / result.requests]))
  return { ...result, cpu }
}

/** The share of one processor below which the stack counts as quiet. */
const QUIET_SHARE = 0.1
const POLL_MS = 300
const MAX_POLLS = 60

/**
 * Waits until the stack has published and stored its events and is quiet. Gives up silently after 60 polls
 * (18 s).
 */
export const waitUntilQuiet = async ({ stack, leads }: Context): Promise<void> => {
  for (let polls = 0; polls < MAX_POLLS; polls++) {
    const before = await readCpu(stack)
    await wait(POLL_MS)
    const used = sumValues(subtractCpu(await readCpu(stack), before))
    const [outbox] = await leads.rows<{ waiting: boolean }>('SELECT EXISTS (SELECT FROM outbox) AS waiting')
    if (!outbox!.waiting && used < QUIET_SHARE * POLL_MS * 1000) return
  }
}
