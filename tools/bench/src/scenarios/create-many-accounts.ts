import type { Context } from '../context'
import { seedAccounts } from '../data/seed-accounts'
import { interleave } from '../measure/rounds'
import { ratioFigure } from '../report/figure'
import { createRequest } from './requests'

/** Creates spread over many accounts, whose counters can't be shared, against creates for one. */
export async function createManyAccounts(context: Context): Promise<void> {
  const { report, stack, generator, leads } = context
  const one = await seedAccounts(leads, 1)
  const many = await context.many()
  const load = (accounts: typeof one) => ({
    run: (seconds: number) =>
      generator.closedLoop({
        port: stack.port,
        requests: accounts.map(createRequest),
        connections: 64,
        seconds,
      }),
  })
  const rounds = await interleave(context, { many: load(many), one: load(one) })
  report.figure(
    ratioFigure({
      what: `create over ${many.length} accounts / over one, leads a second`,
      ours: rounds.many.map((round) => round.perSecond),
      baseline: rounds.one.map((round) => round.perSecond),
      unit: '/s',
      ...{ better: 'more', floor: 0.7, aim: 0.9 },
    }),
  )
}
