import { parseArgs } from 'node:util'
import { fillAccounts } from './fill-accounts'
import { type DeliveryStatus, deliveryStatuses, fillDeliveries } from './fill-deliveries'
import { fillEndpoints } from './fill-endpoints'
import { fillLeads } from './fill-leads'
import { fillQuotes } from './fill-quotes'
import { multiplyDeliveries } from './multiply-deliveries'
import { type Sql, settle } from './sql'

export const usage = `npm run --silent fill -- one of
  --accounts N                                       accounts, each with a token; prints them
  --account ID --leads N [--quotes]                  leads, with a quote of two items each if asked for
  --account ID --endpoints N --url URL               endpoints at URL?1, URL?2 …
  --endpoint ID --deliveries N --status STATUS       deliveries with their events; ${deliveryStatuses.join(', ')}
  --endpoint ID --times N                            its deliveries N times over; webhooks wait meanwhile
Valid rows, without a limit, for the stack that runs in LEADWIRE_DATA (.data). Prints JSON.
held disables the endpoint. Deliveries are of the account's newest leads; what leads are missing is made.`

/** The databases of a stack, and its address of images, without a slash at its end. */
export interface Filled {
  leads: Sql
  webhooks: Sql
  assetsUrl: string
  /** ENCRYPTION_KEYS of webhook-service. */
  encryptionKeys: string
}

/** Does what the arguments ask for; answers with what is to be printed. Throws with the usage when they make no sense. */
export const runFill = async (args: string[], stack: Filled): Promise<object> => {
  const { leads, webhooks } = stack
  const asked = readArguments(args)
  if (asked.accounts) return { accounts: await fillAccounts(leads, asked.accounts) }
  if (asked.account && asked.leads) {
    await fillLeads(stack, asked.account, asked.leads)
    if (asked.quotes) await fillQuotes(stack, asked.account)
    await settle(leads, ['accounts', 'leads', 'quotes', 'quote_items'])
    return { account: asked.account, leads: asked.leads }
  }
  if (asked.account && asked.endpoints && asked.url) {
    await requireAccount(leads, asked.account)
    const { ids, secret } = await fillEndpoints(webhooks, {
      ...{ accountId: asked.account, count: asked.endpoints, url: asked.url },
      encryptionKeys: stack.encryptionKeys,
    })
    await settle(webhooks, ['endpoints'])
    return { account: asked.account, endpoints: ids.length, first_id: ids[0], last_id: ids.at(-1), secret }
  }
  if (asked.endpoint && asked.deliveries && asked.status) {
    const { endpoint: endpointId, deliveries: count, status } = asked
    await fillDeliveries(stack, { endpointId, count, status })
    await settle(leads, ['accounts', 'leads'])
    await settle(webhooks, ['events', 'deliveries', 'attempts'])
    return { endpoint: endpointId, deliveries: count, status }
  }
  if (asked.endpoint && asked.times) {
    await multiplyDeliveries(webhooks, [asked.endpoint], asked.times)
    await settle(webhooks, ['events', 'deliveries', 'attempts'])
    return { endpoint: asked.endpoint, times: asked.times }
  }
  throw new Error(usage)
}

const readArguments = (args: string[]) => {
  const option = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: {
      ...{ accounts: option, account: option, leads: option, endpoints: option, url: option },
      ...{
        endpoint: option,
        deliveries: option,
        times: option,
        status: option,
        quotes: { type: 'boolean', default: false },
      },
    },
  })
  const number = (
    name: 'accounts' | 'account' | 'leads' | 'endpoints' | 'endpoint' | 'deliveries' | 'times',
  ) => {
    const value = values[name]
    if (value !== undefined && !/^[1-9]\d{0,9}$/.test(value))
      throw new Error(`--${name} must be a positive integer, not "${value}".`)
    return value === undefined ? undefined : Number(value)
  }
  const { status, url, quotes } = values
  if (status !== undefined && !deliveryStatuses.some((known) => known === status))
    throw new Error(`--status must be one of ${deliveryStatuses.join(', ')}, not "${status}".`)
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw new Error('--url must be an http or https address.')
  return {
    ...{ accounts: number('accounts'), account: number('account'), leads: number('leads') },
    ...{ endpoints: number('endpoints'), endpoint: number('endpoint'), deliveries: number('deliveries') },
    times: number('times'),
    ...{ status: status as DeliveryStatus | undefined, url, quotes },
  }
}

const requireAccount = async (leads: Sql, id: number) => {
  const [account] = await leads.rows('SELECT id FROM accounts WHERE id = $1', [id])
  if (!account) throw new Error(`There is no account ${id}.`)
}
