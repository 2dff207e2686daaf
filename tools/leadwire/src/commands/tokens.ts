import { oneLine, SCOPES, type Token } from '@leadwire/contracts'
import type { Command } from 'commander'
import { does, id, instant, list } from './run'

const tokenOutput = (token: Token) => ({
  id: token.id,
  name: token.name,
  scopes: token.scopes,
  endpoint_id: token.endpointId ?? null,
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
      .option('--expires-at <instant>', 'when it ends, such as 2030-01-01T00:00:00Z', instant)
      .option('--test', 'make its leads test leads', false),
    async ({ accounts, webhooks }, { account: accountId, endpoint: endpointId, name, test, ...options }) => {
      const { expiresAt, scopes = [endpointId === undefined ? 'leads' : 'webhooks'] } = options
      if (endpointId !== undefined) await webhooks.retrieveWebhookEndpoint({ accountId, endpointId })
      const request = { accountId, name, scopes, test, expiresAt, endpointId }
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
