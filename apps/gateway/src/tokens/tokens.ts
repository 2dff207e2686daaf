import { PORTAL_LINK, SCOPES, type Token } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { recordOf } from '../api/record'
import { dataOf, described, listOf, nullableOf, nullableTimestamp, timestamp } from '../api/schemas'
import { endsSoon } from '../auth/token-verifier'
import { describe, oneOf } from '../validation/fields'

const OwnToken = described('OwnToken', 'What the token of the request may do.', {
  id: Type.Integer({ examples: [1] }),
  name: Type.String({ examples: ['Website form'] }),
  scopes: Type.Array(oneOf([...SCOPES, PORTAL_LINK], '`portal-link`: the link was not opened yet.'), {
    examples: [['leads']],
  }),
  endpoint_id: nullableOf('integer', 'The one webhook endpoint that it sees; null: it is not of one alone.'),
  test: Type.Boolean({ description: 'Leads made with it are test leads.', examples: [false] }),
  expires_at: nullableTimestamp('Null when it does not expire.'),
})

export const TokenRecord = described(
  'Token',
  'What is known of a bearer token. The token itself is shown once, when it is made.',
  {
    ...OwnToken.properties,
    publishable: Type.Boolean(describe('It may stand in a public page.', false)),
    origins: Type.Array(Type.String(), {
      description: 'Of a publishable token: the origins of its pages.',
      examples: [[]],
    }),
    return_url: nullableOf('string', 'Of a publishable token: where a plain form is sent back to.'),
    honeypot: nullableOf('string', 'Of a publishable token: the form field that people leave empty.'),
    last_used_at: nullableTimestamp('Null when it was never used.'),
    revoked_at: nullableTimestamp('Null until it is revoked.'),
    created_at: timestamp('When it was made.'),
    expires_soon: Type.Boolean(describe('It is not revoked and expires within 14 days.', false)),
  },
)

const recordOfToken = recordOf(TokenRecord)

/** A token's public record. `now` is in milliseconds since the epoch. */
export const tokenRecord = (token: Token, now: number) => ({
  ...recordOfToken(token),
  publishable: token.origins.length > 0,
  expires_soon:
    token.revokedAt === undefined &&
    endsSoon(token.expiresAt === undefined ? undefined : Date.parse(token.expiresAt), now),
})

export const listTokens = operation({
  route: 'GET /manage/tokens',
  summary: 'List tokens',
  answer: listOf(TokenRecord, "The account's tokens, without the tokens themselves."),
  handler: async ({ accountId, clients, limits, dependencies: { now } }) => {
    const { tokens } = await clients.accounts.listTokens({ accountId }, limits)
    return tokens.map((token) => tokenRecord(token, now()))
  },
})

const ownToken = recordOf(OwnToken)

export const retrieveOwnToken = operation({
  route: 'GET /token',
  scope: SCOPES,
  endpointTokens: true,
  summary: 'Retrieve the token of the request',
  answer: dataOf(OwnToken, 'What the token may do.'),
  handler: async ({ request: { principal } }) => ownToken({ ...principal, id: principal.tokenId }),
})

export const revokeToken = operation({
  route: 'DELETE /manage/tokens/:id',
  summary: 'Revoke a token',
  description: 'It stops working everywhere within a second.',
  answer: dataOf(TokenRecord, 'The revoked token.'),
  handler: async ({ pathId, accountId, clients, limits, dependencies: { now } }) => {
    const { token } = await clients.accounts.revokeToken({ accountId, tokenId: pathId() }, limits)
    return tokenRecord(token!, now())
  },
})
