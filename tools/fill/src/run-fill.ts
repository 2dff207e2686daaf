import { parseArgs } from 'node:util'
import { fillAccounts } from './fill-accounts'
import { type DeliveryStatus, deliveryStatuses, fillDeliveries } from './fill-deliveries'
import { fillEndpoints } from './fill-endpoints'
import { fillLeads } from './fill-leads'
import { fillQuotes } from './fill-quotes'
import { fillViews, MAX_VIEWS } from './fill-views'
import { multiplyDeliveries } from './multiply-deliveries'
import { type Sql, vacuum } from './sql'

export const usage = `npm run --silent fill -- OPTIONS

Writes valid rows into the databases of the stack that runs in LEADWIRE_DATA (.data). Prints JSON.

OPTIONS are one of:
  --accounts N                                   creates N accounts, each with a token, and prints them
  --account ID --leads N [--quotes] [--work]     adds N leads; --quotes adds a quote with two items to each;
                                                 --work adds notes, callbacks and appointments
  --account ID --views N                         gives each user of the account N saved views, at most 50
  --account ID --endpoints N --url URL           adds N endpoints at URL?1, URL?2 …
  --endpoint ID --deliveries N --status STATUS   adds N deliveries, with events about the account's newest leads
  --endpoint ID --times N                        multiplies the deliveries by N; blocks webhooks meanwhile

STATUS is ${deliveryStatuses.join(', ')}. held disables the endpoint.
--deliveries adds leads if the account has fewer than N.`

/** The running stack. */
export interface FilledStack {
  leads: Sql
  webhooks: Sql
  /** The base URL of images, without a slash at its end. */
  assetsUrl: string
  /** ENCRYPTION_KEYS of webhook-service. */
  encryptionKeys: string
}

/**
 * Fills the databases as the arguments say. Returns the object to print. If the arguments choose nothing,
 * throws an error with the usage.
 */
export const runFill = async (args: string[], stack: FilledStack): Promise<object> => {
  const { leads, webhooks } = stack
  const asked = readArguments(args)
  if (asked.accounts) return { accounts: await fillAccounts(leads, asked.accounts) }
  if (asked.account && asked.leads) {
    await fillLeads(stack, asked.account, asked.leads, { hasWork: asked.work })
    if (asked.quotes) await fillQuotes(stack, asked.account)
    await vacuum(leads, ['accounts', 'leads', 'quotes', 'quote_items'])
    if (asked.work) await vacuum(leads, ['notes', 'callbacks', 'appointments'])
    return { account: asked.account, leads: asked.leads }
  }
  if (asked.account && asked.views) {
    await requireAccount(leads, asked.account)
    const views = await fillViews(leads, asked.account, Math.min(asked.views, MAX_VIEWS))
    return { account: asked.account, views }
  }
  if (asked.account && asked.endpoints && asked.url) {
    await requireAccount(leads, asked.account)
    const { ids, secret } = await fillEndpoints(webhooks, {
      accountId: asked.account,
      count: asked.endpoints,
      url: asked.url,
      encryptionKeys: stack.encryptionKeys,
    })
    await vacuum(webhooks, ['endpoints'])
    return { account: asked.account, endpoints: ids.length, first_id: ids[0], last_id: ids.at(-1), secret }
  }
  if (asked.endpoint && asked.deliveries && asked.status) {
    const { endpoint: endpointId, deliveries: count, status } = asked
    await fillDeliveries(stack, { endpointId, count, status })
    await vacuum(leads, ['accounts', 'leads'])
    await vacuum(webhooks, ['events', 'deliveries', 'attempts'])
    return { endpoint: endpointId, deliveries: count, status }
  }
  if (asked.endpoint && asked.times) {
    await multiplyDeliveries(webhooks, [asked.endpoint], asked.times)
    await vacuum(webhooks, ['events', 'deliveries', 'attempts'])
    return { endpoint: asked.endpoint, times: asked.times }
  }
  throw new Error(usage)
}

const readArguments = (args: string[]) => {
  const option = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: {
      accounts: option,
      account: option,
      leads: option,
      views: option,
      endpoints: option,
      url: option,
      endpoint: option,
      deliveries: option,
      times: option,
      status: option,
      quotes: { type: 'boolean', default: false },
      work: { type: 'boolean', default: false },
    },
  })
  const readNumber = (
    name: 'accounts' | 'account' | 'leads' | 'views' | 'endpoints' | 'endpoint' | 'deliveries' | 'times',
  ) => {
    const value = values[name]
    if (value !== undefined && !/^[1-9]\d{0,9}$/.test(value))
      throw new Error(`--${name} must be a positive integer, not "${value}".`)
    return value === undefined ? undefined : Number(value)
  }
  const { status, url, quotes, work } = values
  if (status !== undefined && !deliveryStatuses.some((known) => known === status))
    throw new Error(`--status must be one of ${deliveryStatuses.join(', ')}, not "${status}".`)
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw new Error('--url must be an http or https address.')
  return {
    accounts: readNumber('accounts'),
    account: readNumber('account'),
    leads: readNumber('leads'),
    views: readNumber('views'),
    endpoints: readNumber('endpoints'),
    endpoint: readNumber('endpoint'),
    deliveries: readNumber('deliveries'),
    times: readNumber('times'),
    status: status as DeliveryStatus | undefined,
    url,
    quotes,
    work,
  }
}

const requireAccount = async (leads: Sql, id: number) => {
  const [account] = await leads.rows('SELECT id FROM accounts WHERE id = $1', [id])
  if (!account) throw new Error(`There is no account ${id}.`)
}
