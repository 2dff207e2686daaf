import { setTimeout as wait } from 'node:timers/promises'
import { poll } from '@leadwire/embedded'
import type { Context } from '../context'
import { dropEndpoints, type SeededEndpoint, seedEndpoints } from '../data/seed-deliveries'
import { matchArrivals, p99 } from '../load/match-arrivals'
import { median } from '../load/percentiles'
import type { Arrivals } from '../load/start-receiver'
import { openDescriptors, residentBytes } from '../measure/process-stat'
import { untilQuiet } from '../measure/rounds'
import { plain } from '../report/figure'
import { createRequest } from './requests'

// Leads a second. Few enough that two slow cores stay half idle: near saturation any load at all makes everybody wait, and
// what would be measured is what creates cost. At 200 a second the ratio went from 0.9 to 7 within one run.
const RATE = 100

// Long enough for 300 webhooks of healthy endpoints, of which a p99 can be told.
const SLICE_SECONDS = 6

/**
 * A thousand accounts with an endpoint each. In every second round nine in ten hang until the time-out or refuse; half
 * of the leads are theirs. Measured is what the healthy tenth sees, in both kinds of round.
 */
export async function isolation(context: Context): Promise<void> {
  const { report, receiver, webhooks, options } = context
  const accounts = await context.many()
  const { port, secondPort } = receiver
  const healthyCount = accounts.length / 10
  const wanted = accounts.map((account, index) => {
    if (index < healthyCount) return { account, url: `http://127.0.0.1:${port}/ok/${index}` }
    if (index % 2 === 0) return { account, url: `http://127.0.0.1:${port}/hang/${index}` }
    return { account, url: `http://127.0.0.1:${secondPort}/refuse/${index}` }
  })
  const endpoints = await seedEndpoints(webhooks, wanted)
  // A healthy one and a broken one in turn.
  const broken = accounts.slice(healthyCount)
  const requests = broken.flatMap((account, index) => [
    createRequest(accounts[index % healthyCount]!),
    createRequest(account),
  ])

  const breakThem = async (on: boolean) => {
    await Promise.all([receiver.hang(on), receiver.refuse(on)])
  }
  const healthy = (seconds: number) => round(context, { requests, seconds, endpoints })
  const mostlyBroken = async (seconds: number) => {
    await breakThem(true)
    try {
      return await round(context, { requests, seconds, endpoints })
    } finally {
      await breakThem(false)
    }
  }
  const p99s = { healthy: [] as number[], mostlyBroken: [] as number[] }
  const watch = await watchProcess(context)
  // Long enough that every account has had its turn and V8 has compiled what both kinds of round use.
  for (const kind of [healthy, mostlyBroken]) await kind(options.quick ? 1 : 6)
  for (let index = 0; index < options.rounds; index++) {
    // The other way round every second time, so that whatever changes over the run happens to both.
    const turns = [
      async () => p99s.healthy.push(...(await healthy(secondsOf(options)))),
      async () => p99s.mostlyBroken.push(...(await mostlyBroken(secondsOf(options)))),
    ]
    for (const turn of index % 2 === 0 ? turns : turns.reverse()) await turn()
  }
  const most = watch.stop()
  await dropEndpoints(webhooks, endpoints)
  const [ours, baseline] = [median(p99s.mostlyBroken), median(p99s.healthy)]
  report.figure({
    what: `healthy endpoint, p99: ${broken.length} of ${accounts.length} broken / none`,
    value: ours / baseline,
    range: [Math.min(...p99s.mostlyBroken) / baseline, Math.max(...p99s.mostlyBroken) / baseline],
    ...{ better: 'less', floor: 1.2, aim: 1.2, detail: `${plain(ours)} / ${plain(baseline)} ms` },
  })
  report.note(
    `With ${broken.length} of ${accounts.length} endpoints hanging or refusing, the webhook-service held at most ` +
      `${Math.round(most.bytes / 2 ** 20)} MiB and ${most.descriptors} descriptors.`,
  )
}

const secondsOf = ({ quick, seconds }: Context['options']) =>
  quick ? seconds * 3 : Math.max(seconds, 4) * SLICE_SECONDS

/**
 * Answers with the p99 of the healthy endpoints' waits in each slice of the round. One stall of the machine, which is
 * nobody's doing here, makes all that lies beyond the p99 of a round; of slices it spoils one, and their median stands.
 */
async function round(
  context: Context,
  {
    requests,
    seconds,
    endpoints,
  }: { requests: ReturnType<typeof createRequest>[]; seconds: number; endpoints: SeededEndpoint[] },
): Promise<number[]> {
  const { generator, receiver, stack, webhooks } = context
  await untilQuiet(context)
  await receiver.take()
  const { answers } = await generator.openLoop({
    ...{ port: stack.port, requests, seconds, connections: 64, perSecond: RATE },
  })
  const ids = endpoints.map(({ id }) => id)
  const isHealthy = (path: string) => path.startsWith('/ok')
  // Every healthy one has its first attempt behind it.
  await poll(
    async () => {
      const [row] = await webhooks.rows<{ open: boolean }>(
        `SELECT EXISTS (SELECT FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id
           WHERE d.endpoint_id = ANY ($1) AND d.status = 'pending' AND d.attempt_count = 0 AND e.url LIKE '%/ok/%') AS open`,
        [ids],
      )
      return !row!.open
    },
    { what: 'the healthy endpoints to be served', timeoutMs: 30_000, everyMs: 200 },
  )
  await wait(200)
  const arrivals = await receiver.take()
  const { waits } = matchArrivals(answers, arrivals, isHealthy)
  const expected = Math.floor(answers.at.length / 2)
  if (waits.length < expected)
    throw new Error(`${expected - waits.length} webhooks of healthy endpoints are missing`)
  // What waits for its retry would else come in a later round.
  await webhooks.rows(
    `UPDATE deliveries SET status = 'cancelled', next_attempt_at = NULL
     WHERE endpoint_id = ANY ($1) AND status = 'pending'`,
    [ids],
  )
  return slices(arrivals, seconds).map((slice) => p99(matchArrivals(answers, slice, isHealthy).waits))
}

/** What arrived in each of the equal parts of the time, in which leads were made. */
function slices({ keys, at }: Arrivals, seconds: number): Arrivals[] {
  const count = Math.max(1, Math.round(seconds / SLICE_SECONDS))
  const from = at[0]!
  const sliceOf = (time: number) =>
    Math.min(count - 1, Math.floor(((time - from) / (seconds * 1000)) * count))
  const parts = Array.from({ length: count }, (): Arrivals => ({ keys: [], at: [] }))
  at.forEach((time, index) => {
    const part = parts[sliceOf(time)]!
    part.keys.push(keys[index]!)
    part.at.push(time)
  })
  return parts
}

async function watchProcess({ stack }: Context) {
  const most = { bytes: 0, descriptors: 0 }
  const { pid } = (await stack.readDev()).services['webhook-service']!
  const timer = setInterval(async () => {
    most.bytes = Math.max(most.bytes, await residentBytes(pid))
    most.descriptors = Math.max(most.descriptors, await openDescriptors(pid))
  }, 250)
  return {
    stop: () => {
      clearInterval(timer)
      return most
    },
  }
}
