import { oneLine, SCOPES, type Token } from '@leadwire/contracts'
import type { Command } from 'commander'
import { does, id, instant, list } from './run'

const tokenOutput = (token: Token) => ({
  id: token.id,
  name: token.name,
  scopes: token.scopes,
  endpoint_id: token.endpointId ?? null,
  publishable: token.origins.length > 0,
  origins: token.origins,
  return_url: token.returnUrl ?? null,
  honeypot: token.honeypot ?? null,
  test: token.test,
  expires_at: token.expiresAt ?? null,
  last_used_at: token.lastUsedAt ?? null,
  revoked_at: token.revokedAt ?? null,
  created_at: token.createdAt,
})

/** `leadwire tokens …` */
export const addTokens = (program: Command): void => {
  const tokens = program.command('tokens').description('bearer tokens of an account')

  does<{
    account: number
    name: string
    scopes?: string[]
    endpoint?: number
    publishable: boolean
    origin?: string[]
    returnUrl?: string
    honeypot?: string
    expiresAt?: string
    test: boolean
  }>(
    tokens
      .command('create')
      .description('make a token; it is shown this once')
      .requiredOption('--account <id>', 'the account', id)
      .requiredOption('--name <name>', 'what it is for', oneLine)
      .option('--scope, --scopes <list>', `of ${SCOPES.join(', ')}; parted by commas (default: leads)`, list)
      .option('--endpoint <id>', 'the one webhook endpoint that it sees, with the scope webhooks', id)
      .option('--publishable', 'let it stand in public pages, to create leads alone', false)
      .option(
        '--origin <list>',
        'the origins of the pages, such as https://www.example.com; parted by commas',
        list,
      )
      .option('--return-url <url>', 'where a plain form is sent back to')
      .option('--honeypot <field>', 'the form field that people leave empty')
      .option('--expires-at <instant>', 'when it ends, such as 2030-01-01T00:00:00Z', instant)
      .option('--test', 'make its leads test leads', false),
    async ({ accounts, webhooks }, { account: accountId, endpoint: endpointId, name, test, ...options }) => {
      const { expiresAt, publishable, origin: origins = [], returnUrl, honeypot } = options
      if (publishable !== origins.length > 0) throw new Error('--publishable and --origin go together.')
      const scope = publishable ? 'leads:create' : endpointId === undefined ? 'leads' : 'webhooks'
      const { scopes = [scope] } = options
      if (endpointId !== undefined) await webhooks.retrieveWebhookEndpoint({ accountId, endpointId })
      const published = { origins, returnUrl, honeypot }
      const request = { accountId, name, scopes, test, expiresAt, endpointId, ...published }
      const { token, secret } = await accounts.createToken(request)
      return { ...tokenOutput(token!), token: secret }
    },
  )

  does<{ account: number }>(
    tokens.command('list').description('every token').requiredOption('--account <id>', 'the account', id),
    async ({ accounts }, { account }) =>
      (await accounts.listTokens({ accountId: account })).tokens.map(tokenOutput),
  )

  does<{ account: number; id: number }>(
    tokens
      .command('revoke')
      .description('revoke a token, everywhere within a second')
      .requiredOption('--account <id>', 'the account', id)
      .requiredOption('--id <id>', 'the token', id),
    async ({ accounts }, options) => {
      const { token } = await accounts.revokeToken({ accountId: options.account, tokenId: options.id })
      return tokenOutput(token!)
    },
  )
}
