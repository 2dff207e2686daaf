import type { Context } from '../context'
import { createAtRate } from '../load/create-at-rate'
import { median, percentile, sortNumbers } from '../measure/statistics'
import { formatNumber } from '../report/figure'
import { buildCreate } from './requests'
import { withEndpoints } from './with-endpoints'

// Leads a second. At this rate two slow cores stay half idle. Near saturation all webhooks wait for the
// creates, so the ratio means nothing: at 200 leads a second it varied from 0.9 to 7 within one run.
const RATE = 100

// Ten seconds give 1,000 leads, half of them for healthy endpoints. Five of these 500 webhooks are above the
// p99, which is enough for a stable figure.
const SECONDS = 10

const KINDS = ['none', 'broken'] as const
type Kind = (typeof KINDS)[number]

/**
 * Measures the webhooks of healthy endpoints, with and without broken ones. Each of a thousand accounts has
 * one endpoint. In every second round, nine in ten endpoints hang until the timeout or refuse connections,
 * and half of the leads belong to these broken endpoints.
 */
export const measureIsolation = async (context: Context): Promise<void> => {
  const { report, options } = context
  const seconds = options.quick ? 3 : SECONDS
  // Warms up with a short round of each kind, so that V8 has compiled the code of both before the first
  // measured round.
  for (const kind of KINDS) await measureRound(context, kind, options.quick ? 1 : 4)
  const p99s: Record<Kind, number[]> = { none: [], broken: [] }
  for (let round = 0; round < options.rounds; round++)
    for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed())
      p99s[kind].push(await measureRound(context, kind, seconds))
  const ours = median(p99s.broken)
  const baseline = median(p99s.none)
  report.addFigure({
    what: 'webhook of a healthy endpoint, p99: nine in ten broken / none',
    value: ours / baseline,
    range: [Math.min(...p99s.broken) / baseline, Math.max(...p99s.broken) / baseline],
    better: 'less',
    floor: 1.2,
    aim: 1.2,
    detail: `${formatNumber(ours)} / ${formatNumber(baseline)} ms`,
  })
}

/**
 * Returns the p99 latency of the webhooks of healthy endpoints, in milliseconds. The latency is the time from
 * the response to a create until its webhook arrives.
 */
const measureRound = async (context: Context, kind: Kind, seconds: number): Promise<number> => {
  const { receiver, stack } = context
  const accounts = await context.getManyAccounts()
  const healthy = accounts.length / 10
  const chooseUrl = (index: number) => {
    if (index < healthy) return receiver.url
    if (index % 2 === 0) return `http://127.0.0.1:${receiver.port}/hang`
    return `http://127.0.0.1:${receiver.refusingPort}/refuse`
  }
  // Requests with an even index are creates in accounts with healthy endpoints.
  const requests = accounts
    .slice(healthy)
    .flatMap((account, index) => [buildCreate(accounts[index % healthy]!), buildCreate(account)])
  const measureHealthy = async () => {
    const created = await createAtRate({ port: stack.port, requests, seconds, perSecond: RATE })
    return receiver.waitForWebhooks(created.filter(({ request }) => request % 2 === 0))
  }
  await receiver.setBroken(kind === 'broken')
  const waits = await withEndpoints(context, accounts, measureHealthy, chooseUrl)
  // `withEndpoints` has already deleted the endpoints, so no retry arrives in a later round.
  await receiver.setBroken(false)
  return percentile(sortNumbers(waits), 0.99)
}
