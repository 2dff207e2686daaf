import type { Context } from '../context'
import { seedAccounts } from '../data/seed-accounts'
import { drawReferences } from '../data/seed-leads'
import type { LoadResult, RequestPlan } from '../load/jobs'
import { untilQuiet } from '../measure/rounds'
import { chart } from '../report/chart'
import { createRequest, getRequest, retrieveRequests } from './requests'

const CONNECTIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/** Throughput and p99 as connections grow. */
export async function connections(context: Context): Promise<void> {
  const { options, leads, report } = context
  const account = await context.quoted()
  const [writer] = await seedAccounts(leads, 1)
  const kinds: Record<string, RequestPlan[]> = {
    'one lead': retrieveRequests(account, await drawReferences(leads, account, 2000)),
    'list page': [getRequest(account, '/leads?page=1')],
    create: [createRequest(writer!)],
  }
  const counts = options.quick ? [1, 64, 512] : CONNECTIONS
  const curves = new Map<string, { connections: number; result: LoadResult }[]>()
  for (const [kind, requests] of Object.entries(kinds)) {
    const points: { connections: number; result: LoadResult }[] = []
    for (const count of counts)
      points.push({ connections: count, result: await load(context, requests, count) })
    curves.set(kind, points)
  }

  const seriesOf = (pick: (result: LoadResult) => number) =>
    [...curves].map(([name, points]) => ({
      name,
      points: points.map(({ connections, result }): [number, number] => [connections, pick(result)]),
    }))
  const throughput = 'Requests a second by connections'
  const latency = 'p99 by connections'
  const xTitle = 'connections'
  report.chart({
    file: 'connections-throughput.svg',
    title: throughput,
    svg: chart({
      title: throughput,
      ...{ xTitle, yTitle: 'requests a second', series: seriesOf((result) => result.perSecond) },
    }),
  })
  report.chart({
    file: 'connections-p99.svg',
    title: latency,
    svg: chart({
      title: latency,
      ...{ xTitle, yTitle: 'p99, ms', series: seriesOf((result) => result.latency.p99), logarithmic: true },
    }),
  })
}

async function load(context: Context, requests: RequestPlan[], connections: number): Promise<LoadResult> {
  const { generator, stack, options } = context
  await untilQuiet(context)
  const job = { port: stack.port, requests, connections }
  await generator.closedLoop({ ...job, seconds: 0.3 })
  return generator.closedLoop({ ...job, seconds: options.seconds / 2 })
}
