import { fillAccounts } from '@leadwire/fill'
import type { Context } from '../context'
import { load } from '../load/load'
import { openLoop } from '../load/open-loop'
import { createRequest, withEndpoints } from './requests'
import { measured, warmUpSeconds } from './rounds'

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
  const rounds: Awaited<ReturnType<typeof run>>[] = []
  await withEndpoints(context, [account!], async () => {
    await load({ port: stack.port, requests, connections: 16, seconds: warmUpSeconds(context) })
    for (let round = 0; round < options.rounds; round++) rounds.push(await run())
  })
  report.cpu(`a lead with its webhook at ${RATE} a second`, rounds, { floor: 6000, aim: 4000 })
}
