import { fillAccounts, fillLeads, settle } from '@leadwire/fill'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { load } from '../load/load'
import { pageRequests, retrieveRequests } from './requests'
import { interleave } from './rounds'

const KINDS = ['first pages', 'last pages', 'one lead'] as const
const PAGES = 50

/** How little it matters how many leads an account has, and how deep one looks. */
export const tableSize = async (context: Context): Promise<void> => {
  const { options, leads, stack, report } = context
  const sizes = options.quick ? [1e3, 1e4] : [1e4, 1e5, 1e6, ...(options.huge ? [1e7] : [])]
  const accounts = await fillAccounts(leads, sizes.length)
  for (const [index, size] of sizes.entries())
    await fillLeads(context, accounts[index]!.id, size, { searchable: false })
  await settle(leads, ['accounts', 'leads'])

  const contenders: Record<string, (seconds: number) => ReturnType<typeof load>> = {}
  for (const [index, size] of sizes.entries()) {
    const account = accounts[index]!
    const requests: Record<(typeof KINDS)[number], Request[]> = {
      'first pages': pageRequests(account, 1, PAGES),
      'last pages': pageRequests(account, size / 20 - PAGES + 1, PAGES),
      'one lead': await retrieveRequests(context, account, 5000),
    }
    for (const kind of KINDS)
      contenders[`${kind} of ${size}`] = (seconds) =>
        load({ port: stack.port, requests: requests[kind], connections: 64, seconds })
  }
  const rounds = await interleave(context, contenders, { seconds: options.seconds / 2, warmUp: 2 })
  const rates = (kind: (typeof KINDS)[number], size: number) =>
    rounds[`${kind} of ${size}`]!.map(({ perSecond }) => perSecond)

  const [smallest, biggest] = [sizes[0]!, sizes.at(-1)!]
  const figure = (what: string, ours: number[], baseline: number[], goal: { floor?: number; aim?: number }) =>
    report.ratio({ what, ours, baseline, unit: '/s', better: 'more', ...goal })
  const flat = { floor: 0.8, aim: 0.95 }
  const [page, last] = [rates('first pages', biggest), rates('last pages', biggest)]
  figure(`list of ${biggest} leads: last pages / first ones`, last, page, flat)
  figure(`list, first pages: ${biggest} leads / ${smallest}`, page, rates('first pages', smallest), flat)
  figure(
    `GET one lead: ${biggest} leads / ${smallest}`,
    rates('one lead', biggest),
    rates('one lead', smallest),
    {},
  )
}
