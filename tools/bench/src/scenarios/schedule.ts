import { setTimeout as wait } from 'node:timers/promises'
import { poll } from '@leadwire/embedded'
import { fillDeliveries, settle } from '@leadwire/fill'
import type { Context } from '../context'
import type { Arrivals } from '../load/start-receiver'
import { percentile, sorted, wallClock } from '../measure/statistics'
import { withEndpoints } from './requests'

/** Of so many pending retries, some become due during the run; the others wait for tomorrow. */
const PENDING = 100_000
const DUE = 4000
const ENDPOINTS = 50
const DAY_MS = 86_400_000
/** So few that each retry goes alone: ten a second. */
const FEW = 100

/** Retries go at their time, never early and at most a second late, though the process is killed in between. */
export const schedule = async (context: Context): Promise<void> => {
  const { receiver, options } = context
  const [pending, due, seconds] = options.quick ? [10_000, 800, 8] : [PENDING, DUE, 20]
  const accounts = (await context.many()).slice(0, ENDPOINTS)
  tellLateness(context, await withEndpoints(context, accounts.slice(0, 5), (ids) => retryFew(context, ids)))
  const seen = await withEndpoints(context, accounts, async (endpoints) => {
    const begunAt = Date.now()
    await fillRetries(context, endpoints, { count: pending - due, from: begunAt + DAY_MS, everyMs: 1 })
    await receiver.take()
    // Fewer rows than those took, so in less time.
    const from = Date.now() + Math.max(5000, Date.now() - begunAt)
    const everyMs = (seconds * 1000 * ENDPOINTS) / due
    const dueAt = await fillRetries(context, endpoints, { count: due, from, everyMs })
    await wait(from + (seconds * 1000) / 2 - Date.now())
    const down = await killAndWait(context)
    await poll(async () => (await receiver.count()) >= due, {
      ...{ what: `${due} retries`, timeoutMs: seconds * 1000 + 30_000, everyMs: 200 },
    })
    // One that comes early or twice would come by then: a claim ends after 14 s.
    await wait(16_000)
    return { arrivals: await receiver.take(), down, dueAt, pending }
  })
  tell(context, seen)
}

/** By how many milliseconds each retry is late when little is due. */
const retryFew = async (context: Context, endpoints: number[]): Promise<Float64Array> => {
  const { receiver } = context
  await receiver.take()
  const everyMs = 100 * endpoints.length
  const dueAt = await fillRetries(context, endpoints, { count: FEW, from: Date.now() + 3000, everyMs })
  await poll(async () => (await receiver.count()) >= FEW, {
    ...{ what: `${FEW} retries`, timeoutMs: 60_000, everyMs: 200 },
  })
  return sorted((await receiver.take()).map(([reference, at]) => at - dueAt.get(reference)!))
}

const tellLateness = ({ report }: Context, late: Float64Array): void => {
  const what = 'lateness of a retry when little is due'
  const range: [number, number] = [late[0]!, late.at(-1)!]
  const goal = { better: 'less', range, detail: `${FEW} retries, ten a second` } as const
  report.figure({ ...goal, what: `${what}, p50, ms`, value: percentile(late, 0.5), floor: 10, aim: 10 })
  report.figure({ ...goal, what: `${what}, at most, ms`, value: late.at(-1)!, floor: 100, aim: 100 })
}

/** Retries at each endpoint, spread over time; when that of each lead is due. */
const fillRetries = async (
  context: Context,
  endpoints: number[],
  { count, from, everyMs }: { count: number; from: number; everyMs: number },
): Promise<Map<string, number>> => {
  const dueAt = new Map<string, number>()
  for (const [index, endpointId] of endpoints.entries()) {
    const due = { from: from + (index * everyMs) / endpoints.length, everyMs }
    const retries = {
      endpointId,
      count: count / endpoints.length,
      status: 'pending',
      failed: 1,
      due,
    } as const
    const references = await fillDeliveries(context, retries)
    for (const [n, reference] of references.entries()) dueAt.set(reference, due.from + n * everyMs)
  }
  await settle(context.webhooks, ['deliveries', 'events', 'attempts'])
  return dueAt
}

/** kill -9 for the process; answers with from when until when it was not ready. */
const killAndWait = async ({ stack }: Context): Promise<{ from: number; until: number }> => {
  const service = (await stack.readDev()).services['webhook-service']!
  const from = wallClock()
  process.kill(service.pid, 'SIGKILL')
  await poll(
    async () => {
      const now = (await stack.readDev()).services['webhook-service']!
      return now.pid !== service.pid && (await fetch(`${now.health}/readyz`)).status === 200
    },
    { what: 'webhook-service to be ready again', timeoutMs: 30_000, everyMs: 20 },
  )
  return { from, until: wallClock() }
}

interface Seen {
  arrivals: Arrivals
  down: { from: number; until: number }
  dueAt: Map<string, number>
  pending: number
}

const tell = ({ report }: Context, { arrivals, down, dueAt, pending }: Seen): void => {
  // The first arrival of each.
  const all = [...new Map(arrivals.toReversed())].map(([reference, at]) => ({
    at,
    due: dueAt.get(reference)!,
  }))
  // What the killed process had claimed and not sent waits for the end of the claim.
  const first = all.filter(({ at, due }) => due >= down.from || at < down.until)
  const late = first.map(({ at, due }) => at - due)
  // What was due while no process was there is late from when one was.
  const whileUp = first.map(
    ({ at, due }) => at - (due < down.until && at >= down.from ? Math.max(due, down.until) : due),
  )
  const inOrder = sorted(late)
  const at = (share: number) => `${percentile(inOrder, share).toFixed(0)} ms`
  const goal = { better: 'less' } as const
  report.series({
    ...{ what: 'retries that came early', values: [late.filter((ms) => ms < 0).length] },
    ...{ ...goal, floor: 0, aim: 0, detail: `${all.length} of ${dueAt.size} due, ${pending} pending` },
  })
  report.series({
    ...{ what: 'latest retry after its time or the restart, s', values: [Math.max(...whileUp) / 1000] },
    ...{ ...goal, floor: 1, aim: 1 },
    detail: `p50 ${at(0.5)}, p99 ${at(0.99)}, at most ${at(1)} with the restart`,
  })
  report.note(
    `Killed in the middle of ${pending} pending retries, the webhook-service was ready again after ${Math.round(down.until - down.from)} ms; ${arrivals.length - first.length} attempts that the kill cut off were made, or made again, when their claims ended.`,
  )
}
