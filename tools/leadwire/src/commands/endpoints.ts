import { type Endpoint, oneLine } from '@leadwire/contracts'
import type { Command } from 'commander'
import { does, id, theAccount } from './run'

export const endpointOutput = (endpoint: Endpoint) => ({
  id: endpoint.id,
  url: endpoint.url,
  description: endpoint.description ?? null,
  enabled: endpoint.enabled,
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

/** `leadwire endpoints …`; answers with the command, for more to be added to it. */
export const addEndpoints = (program: Command): Command => {
  const endpoints = program.command('endpoints').description('addresses that webhooks are sent to')

  does<{ account: number; url: string; description?: string; secret?: string }>(
    endpoints
      .command('create')
      .description('register an address; its secret is shown this once')
      .requiredOption('--account <id>', 'the account', id)
      .requiredOption('--url <url>', 'http or https')
      .option('--description <text>', 'what it is', oneLine)
      .option('--secret <secret>', 'the secret, if the receiver chose one'),
    async (connection, { account, url, description, secret }) => {
      await theAccount(connection, account)
      const request = { accountId: account, url, description, secret, enabled: true }
      const created = await connection.webhooks.createWebhookEndpoint(request)
      return { ...endpointOutput(created.endpoint!), secret: created.secret }
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
