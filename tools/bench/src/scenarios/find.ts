import { poll } from '@leadwire/embedded'
import { type FilledAccount, fillAccounts, fillLeads, vacuum } from '@leadwire/fill'
import type { Context } from '../context'
import type { HttpRequest } from '../load/http-request'
import { type LoadResult, load } from '../load/load'
import type { Goal } from '../report/figure'
import { buildCreate, buildGet, buildPageRequests, PAGE_SIZE } from './requests'
import { interleave } from './rounds'

// Two sizes reveal a statement that reads the whole account: with ten times as many leads, it would run at a
// tenth of the speed. No request should read more than 10,000 rows, however large the account is. --huge also
// shows the effect of deeper indexes and of tables that exceed the caches.
const SMALL = 2000
const LARGE = 20_000
const HUGE = 10_000_000

// leads-service runs at most two searches of an account at the same time, and refuses a call that has waited
// for 3 s. A search may take a second on a slow machine. With six connections a call waits for at most 2 s.
// With more connections, some calls would be refused.
const CONNECTIONS = 6

/** The number of pages that a load reads. */
const PAGES = 50

// Changes 300 leads of each account, spread evenly over the account. Filters for these leads match few rows.
const SPREAD = `
  UPDATE leads SET status = 'sold', updated_at = created_at + interval '1 day'
  WHERE account_id = $1 AND number % ($2::bigint / 300) = 0`

interface Kind {
  what: string
  buildRequests(account: FilledAccount, size: number): HttpRequest[]
  goals?: Omit<Goal, 'better'>
}

const FLAT = { floor: 0.8, aim: 0.95 }

const buildQuery = (query: string) => (account: FilledAccount) => [buildGet(account, `/leads?${query}`)]

// For these requests leads-service reads leads in different ways: by a range of numbers, by the index of a
// filter, by search terms, or from a cursor. A filter or a word may match few leads or most leads. The kinds
// without goals are measured only with --huge. Together they would take two minutes of each run.
const KINDS: Kind[] = [
  { what: 'first pages', buildRequests: (account) => buildPageRequests(account, 1, PAGES), goals: FLAT },
  {
    what: 'last pages',
    buildRequests: (account, size) => buildPageRequests(account, size / PAGE_SIZE - PAGES + 1, PAGES),
    goals: FLAT,
  },
  { what: 'a status that few have', buildRequests: buildQuery('status=sold') },
  { what: 'a status that most have', buildRequests: buildQuery('status=open') },
  {
    what: 'updated_since',
    buildRequests: buildQuery(`updated_since=${new Date(Date.now() + 3_600_000).toISOString()}`),
  },
  { what: 'a word that few have', buildRequests: buildQuery('q=byron%20100') },
  { what: 'a word that all have', buildRequests: buildQuery('q=ada') },
  {
    what: 'a page by cursor with a filter',
    buildRequests: buildQuery('cursor=&per_page=100&status=open'),
  },
  { what: 'create', buildRequests: (account) => [buildCreate(account)] },
]

/**
 * Measures pages in a small account and in a large one. With --huge, also measures filters, search and
 * creates.
 */
export const measureFind = async (context: Context): Promise<void> => {
  const { options, leads, stack, report } = context
  const small = options.quick ? 1000 : SMALL
  const large = chooseLargeSize(options)
  const accounts = await fillAccounts(leads, 2)
  const sizes = [small, large]
  for (const [index, size] of sizes.entries()) {
    await fillLeads(context, accounts[index]!.id, size)
    await leads.rows(SPREAD, [accounts[index]!.id, size])
  }
  const seconds = await waitUntilSearchable(context, accounts)
  report.addSeries({
    what: 'leads made searchable per second, once all were stored',
    values: [(small + large) / seconds],
    better: 'more',
  })
  await waitUntilCounted(context, accounts)
  await vacuum(leads, ['accounts', 'leads', 'lead_search'])

  const kinds = options.huge ? KINDS : KINDS.filter(({ goals }) => goals)
  const contenders: Record<string, (seconds: number) => Promise<LoadResult>> = {}
  for (const { what, buildRequests } of kinds)
    for (const [index, size] of sizes.entries()) {
      const requests = buildRequests(accounts[index]!, size)
      contenders[`${what} of ${size}`] = (seconds) =>
        load({ port: stack.port, requests, connections: CONNECTIONS, seconds })
    }
  // A short warm-up suffices, because earlier scenarios have warmed up the services. This warm-up only has to
  // read the pages of the tables from the disk.
  const rounds = await interleave(context, contenders, { seconds: options.seconds / 2, warmUp: 1 })
  const listRates = (what: string, size: number) =>
    rounds[`${what} of ${size}`]!.map(({ perSecond }) => perSecond)
  for (const { what, goals } of kinds)
    report.addRatio({
      what: `${what}: ${large} leads / ${small}`,
      ours: listRates(what, large),
      baseline: listRates(what, small),
      unit: '/s',
      better: 'more',
      ...goals,
    })
}

const chooseLargeSize = ({ quick, huge }: Context['options']): number => {
  if (quick) return 10_000
  return huge ? HUGE : LARGE
}

const COUNT_BEHIND = `
  SELECT count(*)::int AS behind FROM accounts a LEFT JOIN lead_search_progress p ON p.account_id = a.id
  WHERE a.id = ANY ($1) AND a.lead_count > coalesce(p.number, 0)`

/** Waits until the search terms of the accounts' leads are stored. Returns the seconds that this took. */
const waitUntilSearchable = async ({ leads }: Context, accounts: FilledAccount[]): Promise<number> => {
  const startedAt = performance.now()
  const ids = accounts.map(({ id }) => id)
  const isSearchable = async () => {
    const [row] = await leads.rows<{ behind: number }>(COUNT_BEHIND, [ids])
    return row!.behind === 0
  }
  // The timeout allows for 10,000,000 leads, which take nine minutes.
  await poll(isSearchable, { what: 'search terms', timeoutMs: 3_600_000, everyMs: 500 })
  return (performance.now() - startedAt) / 1000
}

const COUNT_UNCOUNTED = `
  SELECT count(*)::int AS behind FROM accounts a LEFT JOIN figures_progress p ON p.account_id = a.id
  WHERE a.id = ANY ($1) AND a.lead_count > coalesce(p.number, 0)`

/** Waits until the accounts' leads are counted for figures, because counting would slow down the requests. */
const waitUntilCounted = async ({ leads }: Context, accounts: FilledAccount[]): Promise<void> => {
  const ids = accounts.map(({ id }) => id)
  const areCounted = async () => {
    const [row] = await leads.rows<{ behind: number }>(COUNT_UNCOUNTED, [ids])
    return row!.behind === 0
  }
  await poll(areCounted, { what: 'figures', timeoutMs: 3_600_000, everyMs: 500 })
}
