import { fillAccounts } from '@leadwire/fill'
import type { Request } from 'autocannon'
import { copySchema } from '../baselines/copy-schema'
import type { Context } from '../context'
import { load } from '../load/load'
import type { Goal } from '../report/figure'
import { requireSameAnswer, startBaseline } from './baselines'
import { createRequest, pageRequests, retrieveRequests } from './requests'
import { interleave } from './rounds'

type Goals = Omit<Goal, 'better'>

interface Compared {
  what: string
  /** What is counted a second. */
  unit: string
  requests: Request[]
  perSecond: Goals
  /** Of the median on one connection; not measured without it. */
  lone?: Goals
  cpu: Goals
}

/** The stack under a load, against a single Fastify process that talks to PostgreSQL itself. */
const compare = async (context: Context, { what, unit, requests, perSecond, lone, cpu }: Compared) => {
  const { report, stack } = context
  const single = await startBaseline(context, 'single-process', {
    databaseUrl: stack.database('leads'),
    assetsUrl: stack.dev.assets_url,
  })
  if (requests[0]!.method === 'GET') await requireSameAnswer(requests[0]!, stack.port, single.port)
  const rounds = (connections: number) => {
    const run = (port: number) => (seconds: number) => load({ port, requests, connections, seconds })
    return interleave(context, { ours: run(stack.port), single: run(single.port) })
  }
  const full = await rounds(64)
  report.ratio({
    what: `${what} / single process, ${unit} a second`,
    ours: full.ours.map((round) => round.perSecond),
    baseline: full.single.map((round) => round.perSecond),
    ...{ unit: '/s', better: 'more', ...perSecond },
  })
  report.cpu(what, full.ours, cpu)
  if (lone) {
    const { ours, single } = await rounds(1)
    report.ratio({
      what: `${what} / single process, p50 on one connection`,
      ours: ours.map(({ p50 }) => p50),
      baseline: single.map(({ p50 }) => p50),
      ...{ unit: 'ms', better: 'less', ...lone },
    })
  }
  await single.stop()
}

/** One lead with customer and quotes. */
export const retrieve = async (context: Context): Promise<void> =>
  compare(context, {
    ...{ what: 'GET one lead', unit: 'requests' },
    requests: await retrieveRequests(context, await context.quoted(), 2000),
    ...{ perSecond: { floor: 2, aim: 2.5 }, lone: { floor: 2, aim: 1.5 }, cpu: { floor: 130, aim: 100 } },
  })

/** Pages all over the list; the single process uses the same dense number. */
export const list = async (context: Context): Promise<void> =>
  compare(context, {
    ...{ what: 'page of the list', unit: 'pages' },
    requests: pageRequests(await context.quoted(), 1, context.options.quick ? 50 : 500),
    ...{ perSecond: { floor: 1.5, aim: 2 }, cpu: { floor: 300, aim: 250 } },
  })

/** Creates for one account; the single process makes one transaction for each, and has no relay. */
export const create = async (context: Context): Promise<void> => {
  const [account] = await fillAccounts(context.leads, 1)
  await copySchema(context.leads)
  return compare(context, {
    ...{ what: 'create with its event', unit: 'leads', requests: [createRequest(account!)] },
    ...{ perSecond: { floor: 2.5, aim: 4 }, lone: { floor: 2, aim: 1.5 }, cpu: { floor: 900, aim: 500 } },
  })
}
