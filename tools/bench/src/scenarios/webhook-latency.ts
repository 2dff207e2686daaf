import { fillAccounts } from '@leadwire/fill'
import type { Context } from '../context'
import { openLoop } from '../load/open-loop'
import { percentile, sorted } from '../measure/statistics'
import { startBareChain } from './baselines'
import { createRequest, withEndpoints } from './requests'
import { warmUpSeconds } from './rounds'

const RATE = 200

/** From the answer to a create to its webhook's arrival, against a bare chain of the same parts. */
export const webhookLatency = async (context: Context): Promise<void> => {
  const { report, stack, receiver, leads, options } = context
  const [account] = await fillAccounts(leads, 1)
  const chain = await startBareChain(context)

  const measure = async (port: number, seconds: number) => {
    const created = await openLoop({ port, seconds, requests: [createRequest(account!)], perSecond: RATE })
    return sorted(await receiver.waitsOf(created))
  }
  const ours: Float64Array[] = []
  const baseline: Float64Array[] = []
  await withEndpoints(context, [account!], async () => {
    for (const port of [stack.port, chain.port]) await measure(port, warmUpSeconds(context))
    for (let round = 0; round < options.rounds; round++) {
      ours.push(await measure(stack.port, options.seconds * 2))
      baseline.push(await measure(chain.port, options.seconds * 2))
    }
  })
  await chain.stop()
  const figure = (name: string, share: number, floor: number, aim: number) =>
    report.ratio({
      what: `answer to webhook at ${RATE} leads/s / a bare chain, ${name}`,
      ours: ours.map((waits) => percentile(waits, share)),
      baseline: baseline.map((waits) => percentile(waits, share)),
      ...{ unit: 'ms', better: 'less', floor, aim },
    })
  figure('p50', 0.5, 2, 1.3)
  figure('p99', 0.99, 3, 1.5)
}
