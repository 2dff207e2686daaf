import { fillAccounts } from '@leadwire/fill'
import type { Context } from '../context'
import { createAtRate } from '../load/create-at-rate'
import { percentile, sortNumbers } from '../measure/statistics'
import { startBaseline } from './baselines'
import { buildCreate } from './requests'
import { chooseWarmUp } from './rounds'
import { withEndpoints } from './with-endpoints'

const RATE = 200

/**
 * Measures the time from the response to a create until its webhook arrives. Compares it with the time in a
 * bare chain of the same parts.
 */
export const measureWebhookLatency = async (context: Context): Promise<void> => {
  const { report, stack, receiver, leads, options } = context
  const [account] = await fillAccounts(leads, 1)
  const chain = await startBaseline(context, 'bare-chain', {
    databaseUrl: stack.databaseUrl('webhooks'),
    natsUrl: stack.dev.nats_url,
    receiverPort: receiver.port,
  })
  const measureRound = async (port: number, seconds: number) => {
    const created = await createAtRate({ port, seconds, requests: [buildCreate(account!)], perSecond: RATE })
    return sortNumbers(await receiver.waitForWebhooks(created))
  }
  const ours: Float64Array[] = []
  const baseline: Float64Array[] = []
  await withEndpoints(context, [account!], async () => {
    for (const port of [stack.port, chain.port]) await measureRound(port, chooseWarmUp(context))
    for (let round = 0; round < options.rounds; round++) {
      // Each round takes twice the usual time. Then 16 webhooks are slower than the p99, which makes the p99
      // stable.
      ours.push(await measureRound(stack.port, options.seconds * 2))
      baseline.push(await measureRound(chain.port, options.seconds * 2))
    }
  })
  await chain.stop()
  const addPercentile = (name: string, share: number, floor: number, aim: number) =>
    report.addRatio({
      what: `response to webhook at ${RATE} leads/s / a bare chain, ${name}`,
      ours: ours.map((waits) => percentile(waits, share)),
      baseline: baseline.map((waits) => percentile(waits, share)),
      unit: 'ms',
      better: 'less',
      floor,
      aim,
    })
  addPercentile('p50', 0.5, 2, 1.3)
  addPercentile('p99', 0.99, 3, 1.5)
}
