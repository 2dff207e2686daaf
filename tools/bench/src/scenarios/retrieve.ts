import type { Context } from '../context'
import { drawReferences } from '../data/seed-leads'
import type { RequestPlan } from '../load/jobs'
import { interleave, medianCpu, type Round } from '../measure/rounds'
import { ratioFigure } from '../report/figure'
import { retrieveRequests } from './requests'
import { requireSameAnswer } from './same-answer'
import { singleProcess, startBaseline } from './start-baseline'

const perSecond = (rounds: Round[]) => rounds.map((round) => round.perSecond)
const p50 = (rounds: Round[]) => rounds.map((round) => round.latency.p50)

/** One lead with customer and quotes, against a single process and against a server that does nothing. */
export async function retrieve(context: Context): Promise<void> {
  const { report, stack, generator, leads } = context
  const account = await context.quoted()
  const requests = retrieveRequests(account, await drawReferences(leads, account, 2000))
  const single = await singleProcess(context)
  const hello = await startBaseline(context, 'hello')
  await requireSameAnswer(requests[0]!, stack.port, single.port)

  const load = (port: number, plans: RequestPlan[], connections: number) => ({
    run: (seconds: number) => generator.closedLoop({ port, requests: plans, connections, seconds }),
  })
  const full = await interleave(context, {
    ours: load(stack.port, requests, 64),
    single: { ...load(single.port, requests, 64), pids: { baseline: single.pid } },
    hello: { ...load(hello.port, [{ method: 'GET', path: '/' }], 64), pids: { baseline: hello.pid } },
  })
  const lone = await interleave(context, {
    ours: load(stack.port, requests, 1),
    single: load(single.port, requests, 1),
  })
  await Promise.all([single.stop(), hello.stop()])

  report.figure(
    ratioFigure({
      what: 'GET one lead / single process, requests a second',
      ours: perSecond(full.ours),
      baseline: perSecond(full.single),
      unit: '/s',
      ...{ better: 'more', floor: 1.5, aim: 2 },
    }),
  )
  report.figure(
    ratioFigure({
      what: 'GET one lead / Fastify hello, requests a second',
      ours: perSecond(full.ours),
      baseline: perSecond(full.hello),
      unit: '/s',
      ...{ better: 'more', floor: 0.35, aim: 0.5 },
    }),
  )
  report.figure(
    ratioFigure({
      what: 'GET one lead / single process, p50 on 1 connection',
      ours: p50(lone.ours),
      baseline: p50(lone.single),
      unit: 'ms',
      ...{ better: 'less', floor: 2.5, aim: 1.8 },
    }),
  )
  report.cpu('GET one lead', medianCpu(full.ours))
  report.cpu('GET one lead, single process', medianCpu(full.single))
  report.cpu('Fastify hello', medianCpu(full.hello))
  const busiest = Math.max(...full.hello.map(({ generatorBusy }) => generatorBusy))
  report.note(
    `The load generator was busy ${Math.round(busiest * 100)} % of its thread at the fastest rate (Fastify hello).`,
  )
}
