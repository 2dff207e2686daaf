import { setTimeout as wait } from 'node:timers/promises'
import { poll } from '@leadwire/embedded'
import { fillDeliveries, vacuum } from '@leadwire/fill'
import { runPostLoop } from '../baselines/run-post-loop'
import type { Context } from '../context'
import type { CpuTimes } from '../measure/cpu'
import { buildCreate, sendRequest } from './requests'
import { measureCpu, waitUntilQuiet } from './rounds'
import { withEndpoints } from './with-endpoints'

const ENDPOINTS = 32
const CONCURRENCY = 256
// Delivering a backlog of this size takes about two seconds. The first three backlogs warm up
// webhook-service.
const DELIVERIES = 15_000
const WARM_UPS = 3

interface Backlog {
  perSecond: number
  cpu: CpuTimes
}

/**
 * Measures how fast the stack delivers a backlog of webhooks to a quick receiver. Compares it with a loop
 * that only signs and sends.
 */
export const measureWebhooks = async (context: Context): Promise<void> => {
  const { report, receiver, options, stack } = context
  const each = Math.round((options.quick ? 2000 : DELIVERIES) / ENDPOINTS)
  const accounts = (await context.getManyAccounts()).slice(0, ENDPOINTS)
  // A webhook has the same body as the response to its create.
  const create = buildCreate(await context.getAccountWithQuotes())
  const body = JSON.stringify(await sendRequest(stack.port, create))
  const ours: Backlog[] = []
  const baseline: number[] = []
  await withEndpoints(context, accounts, async (endpointIds) => {
    const deliverBacklog = createBacklogs(context, endpointIds, each)
    const amount = each * ENDPOINTS
    const warmUps = options.quick ? 1 : WARM_UPS
    for (let round = -warmUps; round < options.rounds; round++) {
      const posted = await runPostLoop({ url: receiver.url, amount, concurrency: CONCURRENCY, body })
      const delivered = await deliverBacklog()
      if (round < 0) continue
      baseline.push(posted)
      ours.push(delivered)
    }
  })
  report.addRatio({
    what: 'webhooks a second / bare POST loop with HMAC',
    ours: ours.map(({ perSecond }) => perSecond),
    baseline,
    unit: '/s',
    better: 'more',
    floor: 0.4,
    aim: 0.6,
  })
  report.addCpu('a webhook', ours, { floor: 270, aim: 180 })
}

/**
 * Returns a function that stores a backlog whose deliveries all become due at the same time, and waits until
 * they have arrived. The function returns the rate between the first and the last arrival.
 */
const createBacklogs = (context: Context, endpointIds: number[], each: number): (() => Promise<Backlog>) => {
  const { webhooks, receiver } = context
  let aheadMs = 20_000
  return async () => {
    const startedAt = Date.now()
    const due = { from: startedAt + aheadMs, everyMs: 0 }
    for (const endpointId of endpointIds)
      await fillDeliveries(context, { endpointId, count: each, status: 'pending', due })
    await vacuum(webhooks, ['events', 'deliveries'])
    if (Date.now() >= due.from) throw new Error('the backlog became due before all of it was stored')
    // The deliveries of the next backlog become due 4 s after twice the time that storing this backlog took.
    aheadMs = 4000 + 2 * (Date.now() - startedAt)
    await receiver.take()
    // Starts to measure 2 s before the deliveries are due, so that the processor time excludes the earlier
    // idle time.
    await wait(due.from - Date.now() - 2000)
    await waitUntilQuiet(context)
    const requests = endpointIds.length * each
    return measureCpu(context, async () => {
      await poll(async () => (await receiver.count()) >= requests, {
        what: `${requests} webhooks`,
        timeoutMs: 180_000,
        everyMs: 100,
      })
      const arrivals = await receiver.take()
      const firstAt = arrivals[0]![1]
      const lastAt = arrivals.at(-1)![1]
      return { requests, perSecond: ((arrivals.length - 1) / (lastAt - firstAt)) * 1000 }
    })
  }
}
