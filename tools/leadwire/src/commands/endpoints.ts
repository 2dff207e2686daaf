import {
  ENDPOINT_INCLUDES,
  ENDPOINT_LEADS,
  type Endpoint,
  type EndpointHeader,
  EVENT_TYPES,
  filterRecord,
  oneLine,
} from '@leadwire/contracts'
import { type Command, Option } from 'commander'
import { does, id, list, theAccount } from './run'

export const endpointOutput = (endpoint: Endpoint) => ({
  id: endpoint.id,
  url: endpoint.url,
  description: endpoint.description ?? null,
  enabled: endpoint.enabled,
  events: endpoint.events,
  leads: endpoint.leads,
  filter: filterRecord(endpoint.filter),
  include: endpoint.include,
  disabled_reason: endpoint.disabledReason ?? null,
  headers: endpoint.headerNames,
  created_at: endpoint.createdAt,
  updated_at: endpoint.updatedAt,
})

export const named = (command: Command) =>
  command.requiredOption('--account <id>', 'the account', id).requiredOption('--id <id>', 'the endpoint', id)

const addSwitch = (endpoints: Command, name: 'enable' | 'disable', description: string) =>
  does<{ account: number; id: number }>(
    named(endpoints.command(name).description(description)),
    async ({ webhooks }, options) => {
      const request = { accountId: options.account, endpointId: options.id, enabled: name === 'enable' }
      return endpointOutput((await webhooks.updateWebhookEndpoint(request)).endpoint!)
    },
  )

interface Fields {
  description?: string
  enabled?: string
  events?: string[]
  leads?: string
  filterStatus?: string[]
  filterReferrer?: string[]
  filterPostcode?: string[]
  filterUserEmail?: string[]
  include?: string[]
  header?: EndpointHeader[]
}

/** Reads a header: `Name: value`, or the name of one whose value stays. */
const header = (text: string, others: EndpointHeader[] = []): EndpointHeader[] => {
  const [name = '', value] = text.split(/:(.*)/s)
  return [...others, { name: name.trim(), value: value?.trim() }]
}

const addFields = (command: Command): Command =>
  command
    .option('--description <text>', 'what it is', oneLine)
    .addOption(
      new Option('--enabled <flag>', 'while it is false, deliveries are held').choices(['true', 'false']),
    )
    .option('--events <types>', `some of ${EVENT_TYPES.join(',')}`, list)
    .option('--leads <which>', `whose events it gets: ${ENDPOINT_LEADS.join(', ')}`)
    .option('--filter-status <statuses>', 'only leads with one of these statuses, such as open,sold', list)
    .option('--filter-referrer <referrers>', 'only leads with one of these referrers', list)
    .option('--filter-postcode <starts>', 'only leads whose postcode starts with one of these', list)
    .option('--filter-user-email <emails>', 'only leads that are assigned to one of these users', list)
    .option(
      '--include <parts>',
      `what else its webhooks have: ${ENDPOINT_INCLUDES.join(', ')}, or nothing`,
      list,
    )
    .option('--header <header>', "'Name: value', for each attempt; may be repeated", header)

const filterOf = (fields: Fields) => {
  const { filterStatus: status = [], filterReferrer: referrer = [] } = fields
  const { filterPostcode: postcode = [], filterUserEmail: userEmail = [] } = fields
  const filter = { status, referrer, postcode, userEmail }
  return Object.values(filter).some(({ length }) => length > 0) ? filter : undefined
}

/** The fields as webhook-service's requests have them. */
const requestOf = ({ description, enabled, events, leads, include, header: headers, ...rest }: Fields) => ({
  ...{ description, leads },
  enabled: enabled === undefined ? undefined : enabled === 'true',
  events: events && { types: events },
  include: include && { parts: include.filter(Boolean) },
  headers: headers && { headers },
  filter: filterOf(rest),
})

/** `leadwire endpoints …`; answers with the command, for more to be added to it. */
export const addEndpoints = (program: Command): Command => {
  const endpoints = program.command('endpoints').description('addresses that webhooks are sent to')

  does<Fields & { account: number; url: string; secret?: string }>(
    addFields(
      endpoints
        .command('create')
        .description('register an address; its secret is shown this once')
        .requiredOption('--account <id>', 'the account', id)
        .requiredOption('--url <url>', 'http or https')
        .option('--secret <secret>', 'the secret, if the receiver chose one'),
    ),
    async (connection, { account, url, secret, ...fields }) => {
      await theAccount(connection, account)
      const { enabled = true, ...rest } = requestOf(fields)
      const request = { accountId: account, url, secret, enabled, ...rest }
      const created = await connection.webhooks.createWebhookEndpoint(request)
      return { ...endpointOutput(created.endpoint!), secret: created.secret }
    },
  )

  does<Fields & { account: number; id: number; url?: string; headers: boolean; filter: boolean }>(
    addFields(
      named(endpoints.command('update').description('change what is given of an endpoint'))
        .option('--url <url>', 'http or https')
        .option(
          '--no-headers',
          'remove all its headers; --header replaces them, its name alone keeps a value',
        )
        .option('--no-filter', 'remove its filter; any --filter-… replaces it'),
    ),
    async ({ webhooks }, { account, id, url, headers, filter, ...fields }) => {
      const { filter: given = filter ? undefined : {}, ...change } = requestOf(
        headers ? fields : { ...fields, header: [] },
      )
      const request = { accountId: account, endpointId: id, url, ...change, filter: given }
      return endpointOutput((await webhooks.updateWebhookEndpoint(request)).endpoint!)
    },
  )

  does<{ account: number }>(
    endpoints
      .command('list')
      .description('every endpoint')
      .requiredOption('--account <id>', 'the account', id),
    async ({ webhooks }, { account }) =>
      (await webhooks.listWebhookEndpoints({ accountId: account })).endpoints.map(endpointOutput),
  )

  addSwitch(endpoints, 'enable', 'send to it again; what was held and is due goes at once')
  addSwitch(endpoints, 'disable', 'hold what is to be sent to it')

  does<{ account: number; id: number }>(
    named(endpoints.command('delete').description('remove it and cancel what is pending for it')),
    async ({ webhooks }, options) => {
      await webhooks.deleteWebhookEndpoint({ accountId: options.account, endpointId: options.id })
      return { id: options.id, deleted: true }
    },
  )
  return endpoints
}
