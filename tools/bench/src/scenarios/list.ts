import type { Context } from '../context'
import { interleave, medianCpu } from '../measure/rounds'
import { ratioFigure } from '../report/figure'
import { getRequest } from './requests'
import { requireSameAnswer } from './same-answer'
import { singleProcess } from './start-baseline'

/** Pages all over the list, against a single process that uses the same dense number. */
export async function list(context: Context): Promise<void> {
  const { report, stack, generator } = context
  const account = await context.quoted()
  const pages = Array.from({ length: 50 }, (_, index) => getRequest(account, `/leads?page=${index * 9 + 1}`))
  const single = await singleProcess(context)
  await requireSameAnswer(pages[1]!, stack.port, single.port)

  const load = (port: number) => ({
    run: (seconds: number) => generator.closedLoop({ port, requests: pages, connections: 64, seconds }),
  })
  const rounds = await interleave(context, {
    ours: load(stack.port),
    single: { ...load(single.port), pids: { baseline: single.pid } },
  })
  await single.stop()

  report.figure(
    ratioFigure({
      what: 'list page / single process with the dense number, pages a second',
      ours: rounds.ours.map((round) => round.perSecond),
      baseline: rounds.single.map((round) => round.perSecond),
      unit: '/s',
      ...{ better: 'more', floor: 0.45, aim: 0.65 },
    }),
  )
  report.cpu('List page', medianCpu(rounds.ours))
  report.cpu('List page, single process', medianCpu(rounds.single))
}
