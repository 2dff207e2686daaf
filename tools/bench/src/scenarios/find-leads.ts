import { setTimeout as wait } from 'node:timers/promises'
import { type FilledAccount, fillAccounts, fillLeads, settle } from '@leadwire/fill'
import type { Context } from '../context'
import { load } from '../load/load'
import { createRequest, getRequest, pageRequests } from './requests'
import { interleave } from './rounds'

// Three hundred leads of each account are unlike the others, spread over all of it.
const SPREAD = `
  UPDATE leads SET status = 'sold', referrer = 'Phone', postcode = 'M1 1AA', test = true,
    updated_at = created_at + interval '1 day'
  WHERE account_id = $1 AND number % ($2::bigint / 300) = 0`

// Three searches of an account run at once, and some take a third of a second each.
const CONNECTIONS = 16

const KINDS = {
  'GET /leads': '',
  'per_page=100': '?per_page=100',
  'a status': '?status=sold',
  'a status that all but a few have': '?status=open',
  'a referrer': '?referrer=Phone',
  'a postcode': '?postcode=M1',
  created_from: '?created_from=2001-01-01T00:00:00Z',
  updated_since: `?updated_since=${new Date(Date.now() + 3_600_000).toISOString()}`,
  'test leads': '?test=1',
  'a word': '?q=byron%20100',
  'a word that all have': '?q=ada',
  'two filters': '?status=sold&referrer=Phone',
  'two filters that agree nowhere': '?status=open&referrer=Phone',
  'a step of a walk': '?cursor=&per_page=100',
  'a step of a walk with a filter': '?cursor=&per_page=100&status=open',
  create: undefined,
}

const requestsOf = (account: FilledAccount, query: string | undefined) => {
  if (query === undefined) return [createRequest(account)]
  return query === '' ? pageRequests(account, 1, 50) : [getRequest(account, `/leads${query}`)]
}

const COUNT_BEHIND = `
  SELECT count(*)::int AS behind FROM accounts a LEFT JOIN lead_search_progress p ON p.account_id = a.id
  WHERE a.id = ANY ($1) AND a.lead_count > coalesce(p.number, 0)`

/** Until the words of these accounts' leads are written; answers with the seconds that it took. */
const untilSearchable = async ({ leads }: Context, accounts: FilledAccount[]): Promise<number> => {
  const since = performance.now()
  const behind = async () =>
    (await leads.rows<{ behind: number }>(COUNT_BEHIND, [accounts.map(({ id }) => id)]))[0]!.behind
  while ((await behind()) > 0) await wait(500)
  return (performance.now() - since) / 1000
}

/** What filters, walks and creates cost, and how little it matters how many leads an account has. */
export const findLeads = async (context: Context): Promise<void> => {
  const { options, leads, stack, report } = context
  const sizes = options.quick ? [1e3, 1e4] : [1e4, options.huge ? 1e7 : 1e6]
  const accounts = await fillAccounts(leads, sizes.length)
  const fill = async (account: FilledAccount, size: number) => {
    await fillLeads(context, account.id, size)
    await leads.rows(SPREAD, [account.id, size])
  }
  for (const [index, size] of sizes.entries()) await fill(accounts[index]!, size)
  const seconds = await untilSearchable(context, accounts)
  report.series({
    what: 'leads made searchable a second, after they were filled',
    values: [sizes.reduce((sum, size) => sum + size, 0) / seconds],
    ...{ unit: '/s', better: 'more' },
  })
  await settle(leads, ['accounts', 'leads', 'lead_search'])
  // PostgreSQL's statistics know nothing of the leads of this one.
  const [recent] = await fillAccounts(leads, 1)
  await fill(recent!, sizes[0]!)
  await untilSearchable(context, [recent!])
  const owners = {
    ...Object.fromEntries(sizes.map((size, index) => [size, accounts[index]!])),
    recent: recent!,
  }

  const contenders: Record<string, (seconds: number) => ReturnType<typeof load>> = {}
  for (const [kind, query] of Object.entries(KINDS))
    for (const [owner, account] of Object.entries(owners)) {
      const requests = requestsOf(account, query)
      const loaded = { port: stack.port, requests, connections: CONNECTIONS }
      // The first answers come from the disk.
      await load({ ...loaded, seconds: 0, amount: CONNECTIONS })
      contenders[`${kind} of ${owner}`] = (seconds) => load({ ...loaded, seconds })
    }
  const rounds = await interleave(context, contenders, { seconds: options.seconds / 2, warmUp: 2 })
  const [smallest, biggest] = [sizes[0]!, sizes.at(-1)!]
  const rates = (kind: string, owner: number | string) =>
    rounds[`${kind} of ${owner}`]!.map(({ perSecond }) => perSecond)
  const figure = (kind: string, owner: number | string, name: string) =>
    report.ratio({
      what: `${kind}: ${name} / ${smallest}`,
      ours: rates(kind, owner),
      baseline: rates(kind, smallest),
      ...{ unit: '/s', better: 'more' },
    })
  for (const kind of Object.keys(KINDS)) figure(kind, biggest, `${biggest} leads`)
  for (const kind of Object.keys(KINDS)) figure(kind, 'recent', `${smallest} leads of a new account`)
}
