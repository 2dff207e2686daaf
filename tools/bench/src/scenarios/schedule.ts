import { setTimeout as wait } from 'node:timers/promises'
import { poll } from '@leadwire/embedded'
import type { Context } from '../context'
import { dropEndpoints, seedDeliveries, seedEndpoints } from '../data/seed-deliveries'
import { wallClock } from '../load/jobs'
import { percentile } from '../load/percentiles'
import type { Arrivals } from '../load/start-receiver'
import { webhookBody } from './webhook-body'

/** Of so many pending retries, some become due during the run; the others wait for tomorrow. */
const PENDING = 100_000
const DUE = 4000
const ENDPOINTS = 50

/** Retries go at their time, never early and at most a second late, though the process is killed in between. */
export async function schedule(context: Context): Promise<void> {
  const { webhooks, receiver, options } = context
  const [pending, due, seconds] = options.quick ? [10_000, 800, 8] : [PENDING, DUE, 20]
  const accounts = (await context.many()).slice(0, ENDPOINTS)
  const url = `http://127.0.0.1:${receiver.port}/ok`
  const endpoints = await seedEndpoints(
    webhooks,
    accounts.map((account, index) => ({ account, url: `${url}/${index}` })),
  )
  const padding = await webhookBody(context)
  const common = { endpoints, padding, attempts: 1 }
  const tomorrow = "now() + interval '1 day' + n * interval '1 millisecond'"
  await seedDeliveries(webhooks, { ...common, count: pending - due, dueAt: tomorrow })
  await webhooks.rows('VACUUM (ANALYZE) deliveries, events')
  await receiver.take()
  const startsAt = Date.now() + 5000
  const step = (seconds * 1000) / due
  await seedDeliveries(webhooks, {
    ...common,
    count: due,
    dueAt: `to_timestamp((${startsAt} + n * ${step}) / 1000.0)`,
  })

  await wait(startsAt + (seconds * 1000) / 2 - Date.now())
  const down = await killAndWait(context)
  await poll(async () => (await receiver.count()) >= due, {
    what: `${due} retries`,
    timeoutMs: seconds * 1000 + 30_000,
    everyMs: 200,
  })
  // One that comes early or twice would come by then.
  await wait(2000)
  const arrivals = await receiver.take()
  await dropEndpoints(webhooks, endpoints)
  tell(context, { arrivals, down, due, pending })
}

/** kill -9 for the process; answers with from when until when it was not ready. */
async function killAndWait({ stack }: Context): Promise<{ from: number; until: number }> {
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

function tell(
  { report }: Context,
  {
    arrivals,
    down,
    due,
    pending,
  }: { arrivals: Arrivals; down: { from: number; until: number }; due: number; pending: number },
): void {
  const seen = new Set<string>()
  const late: number[] = []
  const lateWhileUp: number[] = []
  let early = 0
  let repeated = 0
  arrivals.keys.forEach((key, index) => {
    if (seen.has(key)) {
      repeated += 1
      return
    }
    seen.add(key)
    const dueAt = Number(key.split(' ')[1])
    const at = arrivals.at[index]!
    if (at < dueAt) early += 1
    late.push(at - dueAt)
    // What was due while no process was there is late from when one was.
    const wasDown = dueAt < down.until && at >= down.from
    lateWhileUp.push(at - (wasDown ? Math.max(dueAt, down.until) : dueAt))
  })
  late.sort((a, b) => a - b)
  const worst = Math.max(...lateWhileUp)
  const whole = { better: 'less', detail: `${seen.size} of ${due} due, ${pending} pending` } as const
  report.figure({
    what: 'retries that came early',
    ...{ value: early, range: [early, early], floor: 0, aim: 0 },
    ...whole,
  })
  report.figure({
    what: 'latest retry, seconds after its time or the restart',
    ...{ value: worst / 1000, range: [worst / 1000, worst / 1000], floor: 1, aim: 1 },
    ...whole,
    detail: `p50 ${percentile(late, 0.5).toFixed(0)} ms, p99 ${percentile(late, 0.99).toFixed(0)} ms, at most ${percentile(late, 1).toFixed(0)} ms with the restart`,
  })
  report.note(
    `Killed in the middle of ${pending} pending retries, the webhook-service was ready again after ${Math.round(down.until - down.from)} ms; ` +
      `${repeated} attempts that the kill cut off were made again.`,
  )
}
