import type { Context } from '../context'
import { copySchema } from '../data/copy-schema'
import { seedAccounts } from '../data/seed-accounts'
import { interleave, medianCpu } from '../measure/rounds'
import { ratioFigure } from '../report/figure'
import { createRequest } from './requests'
import { singleProcess } from './start-baseline'

/** Creates for one account, against a single process with one transaction for each. */
export async function create(context: Context): Promise<void> {
  const { report, stack, generator, leads } = context
  const [account] = await seedAccounts(leads, 1)
  await copySchema(leads)
  const single = await singleProcess(context)
  const requests = [createRequest(account!)]
  const load = (port: number, connections: number) => ({
    run: (seconds: number) => generator.closedLoop({ port, requests, connections, seconds }),
  })
  const full = await interleave(context, {
    ours: load(stack.port, 64),
    single: { ...load(single.port, 64), pids: { baseline: single.pid } },
  })
  const lone = await interleave(context, { ours: load(stack.port, 1), single: load(single.port, 1) })
  await single.stop()

  report.figure(
    ratioFigure({
      what: 'create / single process, one transaction each, leads a second',
      ours: full.ours.map((round) => round.perSecond),
      baseline: full.single.map((round) => round.perSecond),
      unit: '/s',
      ...{ better: 'more', floor: 3, aim: 4 },
    }),
  )
  report.figure(
    ratioFigure({
      what: 'create / single process, p50 on 1 connection',
      ours: lone.ours.map((round) => round.latency.p50),
      baseline: lone.single.map((round) => round.latency.p50),
      unit: 'ms',
      ...{ better: 'less', floor: 1.5, aim: 1.1 },
    }),
  )
  report.cpu('Create', medianCpu(full.ours))
  report.cpu('Create, single process', medianCpu(full.single))
}
