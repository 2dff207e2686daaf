import { poll } from '@leadwire/embedded'
import type { Context } from '../context'
import { dropEndpoints, type SeededEndpoint, seedDeliveries, seedEndpoints } from '../data/seed-deliveries'
import { median } from '../load/percentiles'
import type { Arrivals } from '../load/start-receiver'
import { type CpuTimes, cpuBetween, readCpu } from '../measure/cpu'
import { untilQuiet } from '../measure/rounds'
import { startProgram } from '../process/start-program'
import { ratioFigure } from '../report/figure'
import { webhookBody } from './webhook-body'

const ENDPOINTS = 32
const CONCURRENCY = 256
const WARM_UPS = 3

/** A backlog of webhooks for a quick receiver, against a loop that signs and POSTs and keeps no record. */
export async function deliveryThroughput(context: Context): Promise<void> {
  const { report, receiver, webhooks, ground, options } = context
  const amount = options.quick ? 2000 : 15_000
  const accounts = (await context.many()).slice(0, ENDPOINTS)
  const url = `http://127.0.0.1:${receiver.port}/ok`
  const endpoints = await seedEndpoints(
    webhooks,
    accounts.map((account, index) => ({ account, url: `${url}/${index}` })),
  )
  const body = await webhookBody(context)
  const loop = await startProgram('baselines/post-loop')
  const stopLoop = ground.onLeave(loop.stop)
  const postAll = () =>
    loop.call<number>('run', { port: receiver.port, amount, concurrency: CONCURRENCY, body })

  await receiver.keepKeys(false)
  for (let warmUp = 0; warmUp < (options.quick ? 1 : WARM_UPS); warmUp++) {
    await postAll()
    await deliverAll(context, endpoints, amount, body)
  }
  const ours: number[] = []
  const baseline: number[] = []
  let cpu: CpuTimes = {}
  for (let round = 0; round < options.rounds; round++) {
    await untilQuiet(context)
    baseline.push(await postAll())
    await untilQuiet(context)
    const delivered = await deliverAll(context, endpoints, amount, body)
    ours.push(delivered.perSecond)
    cpu = delivered.cpu
  }
  await stopLoop()
  await dropEndpoints(webhooks, endpoints)
  await receiver.keepKeys(true)
  report.figure(
    ratioFigure({
      what: 'webhooks a second, one process / bare POST loop with HMAC',
      ...{ ours, baseline, unit: '/s', better: 'more', floor: 0.4, aim: 0.7 },
    }),
  )
  report.cpu('Webhook', cpu)
  report.note(`Webhooks a second from a backlog, recorded: median ${Math.round(median(ours))}.`)
}

/** Lets a backlog become due all at once; the rate counts from its first to its last arrival. */
async function deliverAll(context: Context, endpoints: SeededEndpoint[], count: number, padding: string) {
  const { webhooks, receiver, stack } = context
  await receiver.take()
  const [at] = await webhooks.rows<{ due: string }>("SELECT (now() + interval '5 seconds')::text AS due")
  await seedDeliveries(webhooks, { endpoints, count, dueAt: `'${at!.due}'::timestamptz`, padding })
  await webhooks.rows('ANALYZE events, deliveries')
  const before = await readCpu(stack)
  await poll(async () => (await receiver.count()) >= count, {
    what: `${count} webhooks`,
    timeoutMs: 120_000,
    everyMs: 100,
  })
  const arrivals = await receiver.take()
  await untilQuiet(context)
  const used = cpuBetween(before, await readCpu(stack))
  const cpu = Object.fromEntries(Object.entries(used).map(([name, time]) => [name, time / count]))
  return { perSecond: rateOf(arrivals), cpu }
}

const rateOf = ({ at }: Arrivals) => ((at.length - 1) / (at.at(-1)! - at[0]!)) * 1000
