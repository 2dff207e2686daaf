import { fillAccounts } from '@leadwire/fill'
import type { Context } from '../context'
import { type FloodResult, flood } from '../load/flood'
import type { HttpRequest } from '../load/http-request'
import { median, sumValues } from '../measure/statistics'
import { formatNumber } from '../report/figure'
import { buildLargeCreate, buildRetrieveRequests } from './requests'
import { interleave, type Round } from './rounds'

/** The number of connections that is enough to keep all services busy. */
const ENOUGH = 64
const TENFOLD = 10 * ENOUGH

// Both contenders run the same code, so the two warm-ups of three seconds each add up to six seconds.
const WARM_UP_SECONDS = 3

/**
 * Measures goodput with ten times as many connections as are necessary to keep all services busy. Each
 * connection sends its next request as soon as it gets a response.
 */
export const measureOverload = async (context: Context): Promise<void> => {
  const { report, stack, options } = context
  const warmUp = options.quick ? 1 : WARM_UP_SECONDS
  for (const [what, request] of Object.entries(await buildRequests(context))) {
    const floodFrom = (connections: number) => (seconds: number) =>
      flood({ port: stack.port, request, connections, seconds })
    const contenders = { enough: floodFrom(ENOUGH), tenfold: floodFrom(TENFOLD) }
    const { enough, tenfold } = await interleave(context, contenders, { warmUp })
    report.addRatio({
      what: `goodput of "${what}": ${TENFOLD} / ${ENOUGH} connections`,
      ours: tenfold.map(computeGoodput),
      baseline: enough.map(computeGoodput),
      unit: 'successes per second of processor time',
      better: 'more',
      floor: 0.8,
      aim: 1,
    })
    const memory = Object.entries(context.readPeakMemory()).map(
      ([name, size]) => `${name} ${formatNumber(size)}`,
    )
    report.addNote(
      `${what}: ${computeRate(tenfold)} / ${computeRate(enough)} successes a second with the client on the same machine; ` +
        `${countRefused(tenfold)} × 503, slowest response ${findSlowest(tenfold)} ms; ` +
        `most memory so far, MiB: ${memory.join(', ')}`,
    )
  }
}

const buildRequests = async (context: Context): Promise<Record<string, HttpRequest>> => {
  const [account] = await fillAccounts(context.leads, 1)
  const quoted = await context.getAccountWithQuotes()
  const [retrieve] = await buildRetrieveRequests(context, quoted, 1)
  return {
    'GET one lead': retrieve!,
    'create a lead of 50 items': await buildLargeCreate(context, account!, 50),
  }
}

/**
 * Returns the number of successes for each second of the stack's processor time. This time excludes the
 * client, which runs on the same machine.
 */
const computeGoodput = ({ cpu }: Round<FloodResult>) => 1e6 / sumValues(cpu)

const computeRate = (rounds: FloodResult[]) => formatNumber(median(rounds.map(({ perSecond }) => perSecond)))

const countRefused = (rounds: FloodResult[]) =>
  formatNumber(rounds.reduce((sum, { refused }) => sum + refused, 0))

const findSlowest = (rounds: FloodResult[]) => formatNumber(Math.max(...rounds.map(({ slowest }) => slowest)))
