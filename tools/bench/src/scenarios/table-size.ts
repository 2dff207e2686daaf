import type { Context } from '../context'
import { type SeededAccount, seedAccounts } from '../data/seed-accounts'
import { drawReferences, seedLeads } from '../data/seed-leads'
import { settleTables } from '../data/seed-quotes'
import type { RequestPlan } from '../load/jobs'
import { median } from '../load/percentiles'
import { interleave, type Round } from '../measure/rounds'
import { chart, type Series } from '../report/chart'
import { ratioFigure } from '../report/figure'
import { getRequest, retrieveRequests } from './requests'

type Kind = 'page 1' | 'last page' | 'one lead'
type Sized = { size: number; rounds: Record<Kind, Round[]> }

/** How little it matters how many leads an account has, and how deep one looks. */
export async function tableSize(context: Context): Promise<void> {
  const { options, leads, report } = context
  const sizes = options.quick ? [1e3, 1e4] : [1e4, 1e5, 1e6, ...(options.huge ? [1e7] : [])]
  const accounts = await seedAccounts(leads, sizes.length)
  for (const [index, size] of sizes.entries()) await seedLeads(leads, accounts[index]!, size)
  await settleTables(leads)

  const contenders = await contendersOf(context, sizes, accounts)
  const rounds = await interleave(context, contenders, { seconds: options.seconds / 2, warmUp: 2 })
  const of = (size: number): Record<Kind, Round[]> => ({
    'page 1': rounds[`page 1 of ${size}`]!,
    'last page': rounds[`last page of ${size}`]!,
    'one lead': rounds[`one lead of ${size}`]!,
  })
  const measured = sizes.map((size) => ({ size, rounds: of(size) }))
  reportRatios(context, measured)
  report.chart(throughputChart(measured))
  report.chart(latencyChart(measured))
}

async function contendersOf(
  { generator, stack, leads }: Context,
  sizes: number[],
  accounts: SeededAccount[],
) {
  const load = (requests: RequestPlan[]) => ({
    run: (seconds: number) => generator.closedLoop({ port: stack.port, requests, connections: 64, seconds }),
  })
  const contenders: Record<string, ReturnType<typeof load>> = {}
  for (const [index, size] of sizes.entries()) {
    const account = accounts[index]!
    contenders[`page 1 of ${size}`] = load([getRequest(account, '/leads?page=1')])
    contenders[`last page of ${size}`] = load([getRequest(account, `/leads?page=${size / 20}`)])
    const references = await drawReferences(leads, account, 5000)
    contenders[`one lead of ${size}`] = load(retrieveRequests(account, references))
  }
  return contenders
}

function reportRatios({ report }: Context, measured: Sized[]): void {
  const [smallest, biggest] = [measured[0]!, measured.at(-1)!]
  const rates = (sized: Sized, kind: Kind) => sized.rounds[kind].map((round) => round.perSecond)
  const goals = { better: 'more', floor: 0.8, aim: 0.95, unit: '/s' } as const
  report.figure(
    ratioFigure({
      what: `list of ${biggest.size} leads: last page / page 1`,
      ours: rates(biggest, 'last page'),
      baseline: rates(biggest, 'page 1'),
      ...goals,
    }),
  )
  report.figure(
    ratioFigure({
      what: `list, page 1: ${biggest.size} leads / ${smallest.size}`,
      ours: rates(biggest, 'page 1'),
      baseline: rates(smallest, 'page 1'),
      ...goals,
    }),
  )
  report.figure(
    ratioFigure({
      what: `GET one lead: ${biggest.size} leads / ${smallest.size}`,
      ours: rates(biggest, 'one lead'),
      baseline: rates(smallest, 'one lead'),
      ...{ better: 'more', unit: '/s' },
    }),
  )
}

const seriesOf = (measured: Sized[], pick: (round: Round) => number): Series[] =>
  (['page 1', 'last page', 'one lead'] as const).map((kind) => ({
    name: kind,
    points: measured.map(({ size, rounds }) => [size, median(rounds[kind].map(pick))]),
  }))

const throughputChart = (measured: Sized[]) => {
  const title = 'Requests a second by leads in the account, 64 connections'
  const series = seriesOf(measured, (round) => round.perSecond)
  const svg = chart({ title, xTitle: 'leads in the account', yTitle: 'requests a second', series })
  return { file: 'table-size-throughput.svg', title, svg }
}

const latencyChart = (measured: Sized[]) => {
  const title = 'p99 by leads in the account, 64 connections'
  const series = seriesOf(measured, (round) => round.latency.p99)
  const svg = chart({ title, xTitle: 'leads in the account', yTitle: 'p99, ms', series })
  return { file: 'table-size-p99.svg', title, svg }
}
