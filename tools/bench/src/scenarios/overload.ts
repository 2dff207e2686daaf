import { fillAccounts } from '@leadwire/fill'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { flood } from '../load/flood'
import { median, totalOf } from '../measure/statistics'
import { plain } from '../report/figure'
import { createRequest, jsonRequest, largeLeadRequest, retrieveRequests } from './requests'
import { interleave, type Round } from './rounds'

/** Connections at which all services are busy. */
const ENOUGH = 64

type FloodRound = Round<Awaited<ReturnType<typeof flood>>>

/** Successes for each second of the stack's processor time: the client, on the same machine, has no part in it. */
const goodput = ({ cpu }: FloodRound) => 1e6 / totalOf(cpu)

const kinds = async (context: Context): Promise<Record<string, Request>> => {
  const [account] = await fillAccounts(context.leads, 1)
  const quoted = await context.quoted()
  const [retrieve] = await retrieveRequests(context, quoted, 1)
  return {
    'GET one lead': retrieve!,
    create: createRequest(account!),
    'create a lead of 50 items': await largeLeadRequest(context, 50, account!),
    'change a lead': jsonRequest(quoted, 'PATCH', retrieve!.path!, { value: 1 }),
  }
}

/** Ten times as many connections as keep all services busy, each asking again as soon as it is answered. */
export const overload = async (context: Context): Promise<void> => {
  const { report, stack } = context
  for (const [what, request] of Object.entries(await kinds(context))) {
    const run = (connections: number) => (seconds: number) =>
      flood({ port: stack.port, request, connections, seconds })
    const { enough, tenfold } = await interleave(context, { enough: run(ENOUGH), tenfold: run(10 * ENOUGH) })
    const perSecond = (rounds: FloodRound[]) => plain(median(rounds.map((round) => round.perSecond)))
    const refused = tenfold.reduce((sum, round) => sum + round.refused, 0)
    const slowest = Math.max(...tenfold.map((round) => round.slowest))
    const memory = Object.entries(context.mostMemory()).map(([name, size]) => `${name} ${plain(size)}`)
    report.ratio({
      what: `goodput of "${what}": ${10 * ENOUGH} / ${ENOUGH} connections`,
      ours: tenfold.map(goodput),
      baseline: enough.map(goodput),
      ...{ unit: 'successes per second of processor time', better: 'more', floor: 0.8, aim: 1 },
    })
    report.note(
      `${what}: ${perSecond(tenfold)} / ${perSecond(enough)} successes a second with the client on the same machine; ${plain(refused)} × 503, slowest answer ${plain(slowest)} ms; most memory so far, MiB: ${memory.join(', ')}`,
    )
  }
}
