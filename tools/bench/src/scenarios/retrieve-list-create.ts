import { fillAccounts } from '@leadwire/fill'
import { copySchema } from '../baselines/copy-schema'
import type { Context } from '../context'
import type { HttpRequest } from '../load/http-request'
import { load } from '../load/load'
import type { Goal } from '../report/figure'
import { requireSameResponse, startSingleProcess } from './baselines'
import { buildCreate, buildPageRequests, buildRetrieveRequests } from './requests'
import { interleave } from './rounds'

type Goals = Omit<Goal, 'better'>

interface Comparison {
  what: string
  /** A plural noun, such as "leads". */
  unit: string
  requests: HttpRequest[]
  perSecond: Goals
  cpu: Goals
  /** The goals of the median response time on one connection. Without goals, this time is not measured. */
  lone?: Goals
}

// A short warm-up suffices, because the load on 64 connections runs first and compiles most of the code that
// one connection runs.
const LONE_WARM_UP_SECONDS = 5

/** Measures requests for randomly drawn leads, with customer and quotes. */
export const measureRetrieve = async (context: Context): Promise<void> =>
  compareWithSingleProcess(context, {
    what: 'GET one lead',
    unit: 'requests',
    requests: await buildRetrieveRequests(context, await context.getAccountWithQuotes(), 2000),
    perSecond: { floor: 2, aim: 2.5 },
    cpu: { floor: 130, aim: 100 },
    lone: { floor: 2, aim: 1.5 },
  })

/**
 * Measures pages of the whole list. Like leads-service, the single process finds a page by the leads'
 * numbers.
 */
export const measureList = async (context: Context): Promise<void> =>
  compareWithSingleProcess(context, {
    what: 'page of the list',
    unit: 'pages',
    requests: buildPageRequests(await context.getAccountWithQuotes(), 1, context.options.quick ? 50 : 500),
    perSecond: { floor: 1.5, aim: 2 },
    cpu: { floor: 300, aim: 250 },
  })

/**
 * Measures creates for one account. The single process runs a transaction for each create, and publishes no
 * events.
 */
export const measureCreate = async (context: Context): Promise<void> => {
  const [account] = await fillAccounts(context.leads, 1)
  await copySchema(context.leads)
  await compareWithSingleProcess(context, {
    what: 'create with its event',
    unit: 'leads',
    requests: [buildCreate(account!)],
    perSecond: { floor: 2.5, aim: 4 },
    cpu: { floor: 900, aim: 500 },
    lone: { floor: 2, aim: 1.5 },
  })
}

/** Loads the stack and a single Fastify process in turn. The single process queries PostgreSQL itself. */
const compareWithSingleProcess = async (
  context: Context,
  { what, unit, requests, perSecond, cpu, lone }: Comparison,
): Promise<void> => {
  const { options, report, stack } = context
  const single = await startSingleProcess(context)
  if (requests[0]!.method === 'GET') await requireSameResponse(requests[0]!, stack.port, single.port)
  const loadFrom = (connections: number) => ({
    ours: (seconds: number) => load({ port: stack.port, requests, connections, seconds }),
    single: (seconds: number) => load({ port: single.port, requests, connections, seconds }),
  })
  const full = await interleave(context, loadFrom(64))
  report.addRatio({
    what: `${what} / single process, ${unit} a second`,
    ours: full.ours.map((round) => round.perSecond),
    baseline: full.single.map((round) => round.perSecond),
    unit: '/s',
    better: 'more',
    ...perSecond,
  })
  report.addCpu(what, full.ours, cpu)
  if (lone) {
    // Half the time suffices: even then a round has more than a thousand requests, which is enough for the
    // median of their response times.
    const seconds = options.seconds / 2
    const warmUp = options.quick ? 1 : LONE_WARM_UP_SECONDS
    const alone = await interleave(context, loadFrom(1), { seconds, warmUp })
    report.addRatio({
      what: `${what} / single process, p50 on one connection`,
      ours: alone.ours.map(({ p50 }) => p50),
      baseline: alone.single.map(({ p50 }) => p50),
      unit: 'ms',
      better: 'less',
      ...lone,
    })
  }
  await single.stop()
}
