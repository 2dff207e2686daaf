import { fillAccounts } from '@leadwire/fill'
import type { Context } from '../context'
import { load } from '../load/load'
import { openLoop } from '../load/open-loop'
import type { CpuTimes } from '../measure/cpu'
import { startBareChain } from './baselines'
import { createRequest, withEndpoints } from './requests'
import { measured, warmUpSeconds } from './rounds'

const RATE = 50
const LEADS = 1000

type Rounds = Awaited<ReturnType<typeof measured>>[]

/** What a quiet stack uses for leads that come one by one, each with its webhook; and what a bare chain of the same parts uses. */
export const steady = async (context: Context): Promise<void> => {
  const { report, stack, receiver, leads, options } = context
  const [account] = await fillAccounts(leads, 1)
  const seconds = options.quick ? 2 : LEADS / RATE
  const requests = [createRequest(account!)]
  const chain = await startBareChain(context)
  const run = (port: number) =>
    measured(
      context,
      async () => {
        const created = await openLoop({ port, seconds, requests, perSecond: RATE })
        await receiver.waitsOf(created)
        return { requests: created.length }
      },
      { 'bare chain': chain.pid },
    )
  const ours: Rounds = []
  const bare: Rounds = []
  await withEndpoints(context, [account!], async () => {
    // One by one, as they are measured: what only runs for a lead alone would else still be compiled.
    for (const { port } of [stack, chain])
      await load({ port, requests, connections: 1, seconds: 3 * warmUpSeconds(context) })
    for (let round = 0; round < options.rounds; round++) {
      ours.push(await run(stack.port))
      bare.push(await run(chain.port))
    }
  })
  await chain.stop()
  report.cpu(`a lead with its webhook at ${RATE} a second`, ours, { floor: 6000, aim: 4000 })
  report.cpu(
    `a bare chain at ${RATE} a second`,
    bare.map(({ cpu }) => ({ cpu: pick(cpu, ['bare chain', 'nats', 'postgres']) })),
  )
}

// The services are idle meanwhile.
const pick = (cpu: CpuTimes, names: string[]): CpuTimes =>
  Object.fromEntries(names.map((name) => [name, cpu[name] ?? 0]))
