import { SCOPES, type Token } from '@leadwire/contracts'
import { CreateToken, listTokenErrors, truncateInstant } from '@leadwire/requests'
import type { Command } from 'commander'
import { checkFields } from './check-fields'
import { addAction, listAll, parseId, parseList } from './run'

const renderCreator = ({ createdByTokenId: id, createdByTokenName: name }: Token) =>
  id === undefined ? null : { id, name }

const renderToken = (token: Token) => ({
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
  created_by: renderCreator(token),
})

interface CreateOptions {
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
}

const chooseScope = ({ publishable, endpoint }: Pick<CreateOptions, 'publishable' | 'endpoint'>): string => {
  if (publishable) return 'leads:create'
  return endpoint === undefined ? 'leads' : 'webhooks'
}

/** Adds `leadwire tokens …`. */
export const addTokens = (program: Command): void => {
  const tokens = program.command('tokens').description('manage bearer tokens of an account')

  addAction<CreateOptions>(
    tokens
      .command('create')
      .description('create a token, which is shown only once')
      .requiredOption('--account <id>', 'the account', parseId)
      .requiredOption('--name <name>', 'the purpose of the token')
      .option('--scope, --scopes <list>', `scopes from ${SCOPES.join(', ')} (default: leads)`, parseList)
      .option(
        '--endpoint <id>',
        'restrict the token to this endpoint; webhooks must be its only scope, and is then the default',
        parseId,
      )
      .option('--publishable', 'make it safe to use in a public page: it can only create leads', false)
      .option(
        '--origin <list>',
        'for a publishable token: the origins of its pages, such as https://www.example.com',
        parseList,
      )
      .option('--return-url <url>', 'for a publishable token: the page shown after a plain form was sent')
      .option(
        '--honeypot <field>',
        'for a publishable token: a hidden form field; a form with a value in it creates a spam lead',
      )
      .option('--expires-at <instant>', 'the expiry, such as 2030-01-01T00:00:00Z (default: never)')
      .option('--test', 'mark the leads that the token creates as test leads', false),
    async ({ accounts, webhooks }, { account: accountId, ...options }) => {
      const fields = checkFields(
        CreateToken,
        {
          name: options.name,
          scopes: options.scopes ?? [chooseScope(options)],
          endpoint_id: options.endpoint,
          publishable: options.publishable,
          origins: options.origin,
          return_url: options.returnUrl,
          honeypot: options.honeypot,
          expires_at: options.expiresAt,
          test: options.test,
        },
        listTokenErrors,
      )
      const { endpoint_id: endpointId, expires_at: expiresAt } = fields
      if (endpointId !== undefined) await webhooks.retrieveWebhookEndpoint({ accountId, endpointId })
      const { token, secret } = await accounts.createToken({
        accountId,
        endpointId,
        name: fields.name,
        scopes: fields.scopes!,
        test: fields.test!,
        expiresAt: expiresAt && truncateInstant(expiresAt),
        origins: fields.origins ?? [],
        returnUrl: fields.return_url,
        honeypot: fields.honeypot,
      })
      return { ...renderToken(token!), token: secret }
    },
  )

  addAction<{ account: number }>(
    tokens
      .command('list')
      .description('list all tokens')
      .requiredOption('--account <id>', 'the account', parseId),
    async ({ accounts }, { account }) => {
      const tokens = await listAll(async (request) => {
        const page = await accounts.listTokens({ accountId: account, ...request })
        return { items: page.tokens, nextAfter: page.nextAfter }
      })
      return tokens.map(renderToken)
    },
  )

  addAction<{ account: number; id: number; cascade: boolean }>(
    tokens
      .command('revoke')
      .description('revoke a token; it stops working everywhere within a second')
      .requiredOption('--account <id>', 'the account', parseId)
      .requiredOption('--id <id>', 'the token', parseId)
      .option('--cascade', 'also revoke the tokens, portal links and calendars that it created', false),
    async ({ accounts }, { account: accountId, id: tokenId, cascade }) => {
      const { token } = await accounts.revokeToken({ accountId, tokenId, cascade })
      return renderToken(token!)
    },
  )
}
