import {
  ENDPOINT_INCLUDES,
  ENDPOINT_LEADS,
  type Endpoint,
  EVENT_TYPES,
  filterRecord,
} from '@leadwire/contracts'
import { buildEndpointRequest, CreateWebhookEndpoint, UpdateWebhookEndpoint } from '@leadwire/requests'
import { type Command, Option } from 'commander'
import { checkFields } from './check-fields'
import { addAction, parseId, parseList, requireAccount } from './run'

export const renderEndpoint = (endpoint: Endpoint) => ({
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

export const addIds = (command: Command) =>
  command
    .requiredOption('--account <id>', 'the account', parseId)
    .requiredOption('--id <id>', 'the endpoint', parseId)

const addSwitch = (endpoints: Command, name: 'enable' | 'disable', description: string) =>
  addAction<{ account: number; id: number }>(
    addIds(endpoints.command(name).description(description)),
    async ({ webhooks }, options) => {
      const request = { accountId: options.account, endpointId: options.id, enabled: name === 'enable' }
      return renderEndpoint((await webhooks.updateWebhookEndpoint(request)).endpoint!)
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
  header?: HeaderValues
}

type HeaderValues = Record<string, string | null>

/**
 * Parses a header and adds it to the others. `Name: value` sets a value; a name alone keeps the stored value.
 */
const addHeader = (text: string, others: HeaderValues = {}): HeaderValues => {
  const [name = '', value] = text.split(/:(.*)/s)
  return { ...others, [name.trim()]: value?.trim() ?? null }
}

const addFields = (command: Command): Command =>
  command
    .option('--description <text>', 'a description of the endpoint')
    .addOption(
      new Option('--enabled <flag>', 'false holds all deliveries to the endpoint').choices(['true', 'false']),
    )
    .option('--events <types>', `the event types, from ${EVENT_TYPES.join(',')}`, parseList)
    .option('--leads <which>', `the leads whose events are sent: ${ENDPOINT_LEADS.join(', ')}`)
    .option(
      '--filter-status <statuses>',
      'only leads with one of these statuses, such as open,sold',
      parseList,
    )
    .option('--filter-referrer <referrers>', 'only leads with one of these referrers', parseList)
    .option('--filter-postcode <starts>', 'only leads whose postcode starts with one of these', parseList)
    .option('--filter-user-email <emails>', 'only leads that are assigned to one of these users', parseList)
    .option(
      '--include <parts>',
      `additional parts of bodies: ${ENDPOINT_INCLUDES.join(', ')}, or an empty list`,
      parseList,
    )
    .option('--header <header>', "an additional header, as 'Name: value'; may be repeated", addHeader)

const readFilter = (options: Fields) => {
  const filter = {
    status: options.filterStatus,
    referrer: options.filterReferrer,
    postcode: options.filterPostcode,
    user_email: options.filterUserEmail,
  }
  return Object.values(filter).some((values) => values !== undefined) ? filter : undefined
}

/** Converts the options to the fields of the API's request. An empty description clears the stored one. */
const readFields = ({ description, enabled, events, leads, include, header: headers, ...rest }: Fields) => ({
  description,
  enabled,
  events,
  leads,
  include: include?.filter(Boolean),
  headers,
  filter: readFilter(rest),
})

/** Adds `leadwire endpoints …`. Returns the command, to which other files add more. */
export const addEndpoints = (program: Command): Command => {
  const endpoints = program.command('endpoints').description('manage webhook endpoints')

  addAction<Fields & { account: number; url: string; secret?: string }>(
    addFields(
      endpoints
        .command('create')
        .description('create an endpoint; its secret is shown only once')
        .requiredOption('--account <id>', 'the account', parseId)
        .requiredOption('--url <url>', 'the http or https address that receives webhooks')
        .option('--secret <secret>', 'the secret (default: a generated one)'),
    ),
    async (connection, { account, url, secret, ...fields }) => {
      const checked = checkFields(CreateWebhookEndpoint, { ...readFields(fields), url, secret })
      await requireAccount(connection, account)
      const { enabled = true, description, ...rest } = buildEndpointRequest(checked)
      const request = { accountId: account, enabled, description: description ?? undefined, ...rest }
      const created = await connection.webhooks.createWebhookEndpoint(request)
      return { ...renderEndpoint(created.endpoint!), secret: created.secret }
    },
  )

  addAction<Fields & { account: number; id: number; url?: string; headers: boolean; filter: boolean }>(
    addFields(
      addIds(endpoints.command('update').description('change the given fields of an endpoint'))
        .option('--url <url>', 'the http or https address that receives webhooks')
        .option(
          '--no-headers',
          'remove all additional headers (any --header replaces all of them; a name without a value keeps the stored value)',
        )
        .option('--no-filter', 'remove the filter (any --filter-… replaces all of it)'),
    ),
    async ({ webhooks }, { account, id, url, headers, filter, ...fields }) => {
      const given = readFields(headers ? fields : { ...fields, header: {} })
      const clearing = filter ? {} : { filter: null }
      const checked = checkFields(UpdateWebhookEndpoint, { ...given, ...clearing, url })
      const { description: text, ...change } = buildEndpointRequest(checked)
      const description = text === null ? '' : text
      const request = { accountId: account, endpointId: id, description, ...change }
      return renderEndpoint((await webhooks.updateWebhookEndpoint(request)).endpoint!)
    },
  )

  addAction<{ account: number }>(
    endpoints
      .command('list')
      .description('list all endpoints')
      .requiredOption('--account <id>', 'the account', parseId),
    async ({ webhooks }, { account }) =>
      (await webhooks.listWebhookEndpoints({ accountId: account })).endpoints.map(renderEndpoint),
  )

  addSwitch(endpoints, 'enable', 'enable an endpoint; held deliveries that are due are sent at once')
  addSwitch(endpoints, 'disable', 'disable an endpoint; its deliveries are held')

  addAction<{ account: number; id: number }>(
    addIds(endpoints.command('delete').description('delete an endpoint and cancel its open deliveries')),
    async ({ webhooks }, options) => {
      await webhooks.deleteWebhookEndpoint({ accountId: options.account, endpointId: options.id })
      return { id: options.id, deleted: true }
    },
  )
  return endpoints
}
