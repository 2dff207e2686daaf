import { poll } from '@leadwire/embedded'
import type { Context } from '../context'
import { copySchema } from '../data/copy-schema'
import { seedAccounts } from '../data/seed-accounts'
import { dropEndpoints, seedEndpoints } from '../data/seed-deliveries'
import { matchArrivals, p50, p99 } from '../load/match-arrivals'
import { untilQuiet, warmUpSeconds } from '../measure/rounds'
import { ratioFigure } from '../report/figure'
import { createRequest } from './requests'
import { startBaseline } from './start-baseline'

const RATE = 200

/** From the answer to a create to its webhook's arrival, against one process that inserts and then POSTs. */
export async function deliveryLatency(context: Context): Promise<void> {
  const { report, stack, receiver, leads, webhooks, options } = context
  const accounts = await seedAccounts(leads, 1)
  await copySchema(leads)
  await leads.rows('INSERT INTO baseline.accounts SELECT * FROM public.accounts ON CONFLICT DO NOTHING')
  const url = `http://127.0.0.1:${receiver.port}/ok`
  const endpoints = await seedEndpoints(webhooks, [{ account: accounts[0]!, url }])
  const baseline = await startBaseline(context, 'insert-then-post', {
    databaseUrl: leads.url,
    receiverPort: receiver.port,
  })

  const measure = (port: number, seconds: number) =>
    deliver(context, { port, seconds, request: createRequest(accounts[0]!) })
  const ours: Float64Array[] = []
  const theirs: Float64Array[] = []
  for (const port of [stack.port, baseline.port]) await measure(port, warmUpSeconds(context))
  for (let round = 0; round < options.rounds; round++) {
    await untilQuiet(context)
    ours.push(await measure(stack.port, options.seconds * 2))
    await untilQuiet(context)
    theirs.push(await measure(baseline.port, options.seconds * 2))
  }
  await baseline.stop()
  await dropEndpoints(webhooks, endpoints)
  for (const [name, at] of [
    ['p50', p50],
    ['p99', p99],
  ] as const) {
    report.figure(
      ratioFigure({
        what: `answer to webhook at ${RATE} leads/s / insert, then POST, ${name}`,
        ours: ours.map(at),
        baseline: theirs.map(at),
        unit: 'ms',
        ...{ better: 'less', floor: 4, aim: 2 },
      }),
    )
  }
}

async function deliver(
  { generator, receiver }: Context,
  { port, seconds, request }: { port: number; seconds: number; request: ReturnType<typeof createRequest> },
): Promise<Float64Array> {
  await receiver.take()
  const { answers } = await generator.openLoop({
    ...{ port, seconds, requests: [request], connections: 64, perSecond: RATE },
  })
  await poll(async () => (await receiver.count()) >= answers.at.length, {
    what: `${answers.at.length} webhooks`,
    timeoutMs: 15_000,
    everyMs: 100,
  })
  const { waits, missing } = matchArrivals(answers, await receiver.take())
  if (missing > 0) throw new Error(`${missing} webhooks did not arrive`)
  return waits
}
