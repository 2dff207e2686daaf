import type { Context } from '../context'
import { openLoop } from '../load/open-loop'
import { median, percentile, sorted } from '../measure/statistics'
import { plain } from '../report/figure'
import { createRequest, withEndpoints } from './requests'

// Leads a second. Few enough that two slow cores stay half idle: near saturation any load at all makes everybody wait, and
// what would be measured is what creates cost. At 200 a second the ratio went from 0.9 to 7 within one run.
const RATE = 100

/**
 * A thousand accounts with an endpoint each. In every second round nine in ten hang until the time-out or refuse; half
 * of the leads are theirs. Measured is what the healthy tenth sees, in both kinds of round.
 */
export const isolation = async (context: Context): Promise<void> => {
  const { report, options } = context
  const p99s: Record<'none' | 'broken', number[]> = { none: [], broken: [] }
  const seconds = options.quick ? options.seconds * 3 : Math.max(options.seconds, 4) * 3
  // First one of each that does not count, so that every account has had its turn and V8 has compiled what both use.
  for (const kind of ['none', 'broken'] as const) await round(context, kind, options.quick ? 1 : 6)
  for (let index = 0; index < options.rounds; index++)
    for (const kind of index % 2 === 0 ? (['none', 'broken'] as const) : (['broken', 'none'] as const))
      p99s[kind].push(await round(context, kind, seconds))
  const [ours, baseline] = [median(p99s.broken), median(p99s.none)]
  report.figure({
    what: 'webhook of a healthy endpoint, p99: nine in ten broken / none',
    value: ours / baseline,
    range: [Math.min(...p99s.broken) / baseline, Math.max(...p99s.broken) / baseline],
    ...{ better: 'less', floor: 1.2, aim: 1.2, detail: `${plain(ours)} / ${plain(baseline)} ms` },
  })
}

/** Answers with the p99 of the healthy endpoints' waits. */
const round = async (context: Context, kind: 'none' | 'broken', seconds: number): Promise<number> => {
  const { receiver, stack } = context
  const accounts = await context.many()
  const healthy = accounts.length / 10
  const urlOf = (index: number) => {
    if (index < healthy) return receiver.url
    if (index % 2 === 0) return `http://127.0.0.1:${receiver.port}/hang`
    return `http://127.0.0.1:${receiver.refusingPort}/refuse`
  }
  // A healthy one and a broken one in turn.
  const requests = accounts
    .slice(healthy)
    .flatMap((account, index) => [createRequest(accounts[index % healthy]!), createRequest(account)])
  await receiver.setBroken(kind === 'broken')
  const waits = await withEndpoints(
    context,
    accounts,
    async () => {
      const created = await openLoop({ port: stack.port, requests, seconds, perSecond: RATE })
      return receiver.waitsOf(created.filter(({ request }) => request % 2 === 0))
    },
    urlOf,
  )
  // After the endpoints are gone, so that no retry comes in a later round.
  await receiver.setBroken(false)
  return percentile(sorted(waits), 0.99)
}
