import { fillAccounts } from '@leadwire/fill'
import type { Context } from '../context'
import { createAtRate } from '../load/create-at-rate'
import { load } from '../load/load'
import type { CpuTimes } from '../measure/cpu'
import { buildCreate } from './requests'
import { chooseWarmUp, measureCpu, waitUntilQuiet } from './rounds'
import { withEndpoints } from './with-endpoints'

const RATE = 50
// Ten seconds give an exact figure: 500 leads use about 4 s of processor time. The kernel counts this time in
// ticks of 10 ms, and 4 s are 400 ticks.
const SECONDS = 10

/** Measures the processor time of leads that arrive one by one, each with its webhook. */
export const measureSteady = async (context: Context): Promise<void> => {
  const { report, stack, receiver, leads, options } = context
  const { port } = stack
  const [account] = await fillAccounts(leads, 1)
  const requests = [buildCreate(account!)]
  const seconds = options.quick ? 2 : SECONDS
  const rounds: { cpu: CpuTimes }[] = []
  await withEndpoints(context, [account!], async () => {
    // A long warm-up on one connection compiles the code that runs only if no other lead is in flight.
    await load({ port, requests, connections: 1, seconds: 3 * chooseWarmUp(context) })
    await waitUntilQuiet(context)
    for (let round = 0; round < options.rounds; round++) {
      const measured = await measureCpu(context, async () => {
        const created = await createAtRate({ port, seconds, requests, perSecond: RATE })
        await receiver.waitForWebhooks(created)
        return { requests: created.length }
      })
      rounds.push(measured)
    }
  })
  report.addCpu(`a lead with its webhook at ${RATE} a second`, rounds, { floor: 6000, aim: 4000 })
}
