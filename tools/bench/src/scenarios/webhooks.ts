import { setTimeout as wait } from 'node:timers/promises'
import { poll } from '@leadwire/embedded'
import { fillDeliveries, settle } from '@leadwire/fill'
import { postLoop } from '../baselines/post-loop'
import type { Context } from '../context'
import type { CpuTimes } from '../measure/cpu'
import { ask, createRequest, withEndpoints } from './requests'
import { measured } from './rounds'

const ENDPOINTS = 32
const CONCURRENCY = 256
const WARM_UPS = 3

/** A backlog of webhooks for a quick receiver, against a loop that signs and POSTs and keeps no record. */
export const webhooks = async (context: Context): Promise<void> => {
  const { report, receiver, options, stack } = context
  const each = Math.round((options.quick ? 2000 : 15_000) / ENDPOINTS)
  const accounts = (await context.many()).slice(0, ENDPOINTS)
  // What a create answers is what its webhook carries.
  const body = JSON.stringify(await ask(stack.port, createRequest(await context.quoted())))
  const ours: Backlog[] = []
  const baseline: number[] = []
  await withEndpoints(context, accounts, async (endpoints) => {
    const deliverAll = backlogOf(context, endpoints, each)
    const amount = each * ENDPOINTS
    const warmUps = options.quick ? 1 : WARM_UPS
    for (let round = -warmUps; round < options.rounds; round++) {
      const posted = await postLoop({ url: receiver.url, amount, concurrency: CONCURRENCY, body })
      const delivered = await deliverAll()
      if (round < 0) continue
      baseline.push(posted)
      ours.push(delivered)
    }
  })
  report.ratio({
    what: 'webhooks a second / bare POST loop with HMAC',
    ours: ours.map(({ perSecond }) => perSecond),
    ...{ baseline, unit: '/s', better: 'more', floor: 0.4, aim: 0.6 },
  })
  report.cpu('a webhook', ours, { floor: 270, aim: 180 })
}

interface Backlog {
  perSecond: number
  cpu: CpuTimes
}

/** Lets a backlog become due all at once; the rate counts from its first to its last arrival. */
const backlogOf = (context: Context, endpoints: number[], each: number): (() => Promise<Backlog>) => {
  const { webhooks, receiver } = context
  let aheadMs = 30_000
  return async () => {
    const startedAt = Date.now()
    const due = { from: startedAt + aheadMs, everyMs: 0 }
    for (const endpointId of endpoints)
      await fillDeliveries(context, { endpointId, count: each, status: 'pending', due })
    await settle(webhooks, ['events', 'deliveries'])
    if (Date.now() >= due.from) throw new Error('the backlog came due before it was complete')
    aheadMs = 5000 + 2 * (Date.now() - startedAt)
    await receiver.take()
    // What an idle stack uses until then is no webhook's.
    await wait(due.from - Date.now() - 2000)
    const requests = endpoints.length * each
    return measured(context, async () => {
      await poll(async () => (await receiver.count()) >= requests, {
        ...{ what: `${requests} webhooks`, timeoutMs: 180_000, everyMs: 100 },
      })
      const arrivals = await receiver.take()
      const perSecond = ((arrivals.length - 1) / (arrivals.at(-1)![1] - arrivals[0]![1])) * 1000
      return { requests, perSecond }
    })
  }
}
