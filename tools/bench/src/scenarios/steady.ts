import { fillAccounts } from '@leadwire/fill'
import type { Context } from '../context'
import { openLoop } from '../load/open-loop'
import { totalOf } from '../measure/statistics'
import { createRequest, withEndpoints } from './requests'
import { measured } from './rounds'

const RATE = 50
const LEADS = 1000

/** What a quiet stack uses for leads that come one by one, each with its webhook. */
export const steady = async (context: Context): Promise<void> => {
  const { report, stack, receiver, leads, options } = context
  const [account] = await fillAccounts(leads, 1)
  const seconds = options.quick ? 2 : LEADS / RATE
  const requests = [createRequest(account!)]
  const run = () =>
    measured(context, async () => {
      const created = await openLoop({ port: stack.port, seconds, requests, perSecond: RATE })
      await receiver.waitsOf(created)
      return { requests: created.length }
    })
  const used: number[] = []
  await withEndpoints(context, [account!], async () => {
    // The first one does not count: V8 has compiled then what is used.
    for (let round = 0; round <= options.rounds; round++) {
      const { cpu } = await run()
      if (round > 0) used.push((totalOf(cpu) * LEADS) / 1e6)
    }
  })
  report.series({
    what: `processor time of ${LEADS} leads with their webhooks at ${RATE} a second, s`,
    ...{ values: used, better: 'less', floor: 6, aim: 4 },
  })
}
