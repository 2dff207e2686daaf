import { PORTAL_LINK, SCOPES, type Token } from '@leadwire/contracts'
import { describe, enumeration, partial } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { findUserNames, type UserNames } from '../api/find-user-names'
import { recordListOperation } from '../api/list-operation'
import { type Call, operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import {
  described,
  nullableScalar,
  nullableTimestamp,
  orNull,
  recordResponse,
  TokenName,
  timestamp,
  UserName,
} from '../api/schemas'
import { endsSoon } from '../auth/authenticate'

const OwnToken = described('OwnToken', 'The token of the request and its permissions.', {
  id: Type.Integer({ examples: [1] }),
  name: Type.String({ examples: ['Website form'] }),
  scopes: Type.Array(
    enumeration(
      [...SCOPES, PORTAL_LINK],
      '`portal-link`: the token is a portal link that has not been opened.',
    ),
    {
      examples: [['leads']],
    },
  ),
  endpoint_id: nullableScalar(
    'integer',
    'The endpoint that the token is restricted to. null if the token is not restricted.',
  ),
  test: Type.Boolean({
    description:
      'Whether the token creates test leads. A test token can still read and change live data within its scopes.',
    examples: [false],
  }),
  expires_at: nullableTimestamp('When the token expires. null if it does not expire.'),
})

export const TokenRecord = described(
  'Token',
  'The record of a bearer token. The token itself is shown only when it is created.',
  {
    ...OwnToken.properties,
    publishable: Type.Boolean(
      describe('Publishable: safe to use in a public page; can only create leads.', false),
    ),
    origins: Type.Array(Type.String(), {
      description: 'Origins of the pages that may use a publishable token.',
      examples: [[]],
    }),
    return_url: nullableScalar(
      'string',
      'URL that a person is sent to after submitting a website form. Publishable tokens only.',
    ),
    honeypot: nullableScalar(
      'string',
      'Name of a form field that is hidden from people. A form with a value in this field creates a lead with the status `spam`. Publishable tokens only.',
    ),
    last_used_at: nullableTimestamp('When the token was last used. null if it was never used.'),
    revoked_at: nullableTimestamp('When the token was revoked. null until then.'),
    created_at: timestamp('When the token was created.'),
    created_by: orNull(
      TokenName,
      'The token that created this token. null if a user or an operator created it.',
    ),
    created_by_user: orNull(
      UserName,
      'The user who created this token, with the present name. null for others.',
    ),
    expires_soon: Type.Boolean(
      describe('Whether the token expires within 14 days and is not revoked.', false),
    ),
  },
)

const renderTokenFields = createRecordRenderer(TokenRecord)

/** Finds the names of the users who created tokens. */
export const findCreators = (call: Call<unknown>, tokens: Token[]): Promise<UserNames> =>
  findUserNames(
    call,
    tokens.map(({ createdByUserId }) => createdByUserId),
  )

/** Returns the token and the user that created a token. A token beside a user is the user's session. */
const renderCreator = (
  { createdByTokenId, createdByTokenName, createdByUserId }: Token,
  userNames: UserNames,
) => {
  if (createdByUserId !== undefined) {
    const user = { id: createdByUserId, name: userNames[createdByUserId] ?? '' }
    return { created_by: null, created_by_user: user }
  }
  const token = createdByTokenId === undefined ? null : { id: createdByTokenId, name: createdByTokenName }
  return { created_by: token, created_by_user: null }
}

/** Returns a token's public record. `now` is in milliseconds since the epoch. */
export const renderToken = (token: Token, now: number, userNames: UserNames) => ({
  ...renderTokenFields(token),
  ...renderCreator(token, userNames),
  publishable: token.origins.length > 0,
  expires_soon:
    token.revokedAt === undefined &&
    endsSoon(token.expiresAt === undefined ? undefined : Date.parse(token.expiresAt), now),
})

export const listTokens = recordListOperation({
  route: 'GET /manage/tokens',
  summary: 'List tokens',
  description:
    'Returns the records of all tokens, including revoked and expired tokens. The records do not contain the tokens themselves.',
  record: TokenRecord,
  find: async (call, asked) => {
    const { clients, limits, request } = call
    const { tokens, nextAfter } = await clients.accounts.listTokens(asked, limits)
    const now = request.principal.databaseNow()
    const userNames = await findCreators(call, tokens)
    return { records: tokens.map((token) => renderToken(token, now, userNames)), nextAfter }
  },
})

const renderOwnToken = createRecordRenderer(OwnToken)

export const retrieveOwnToken = operation({
  route: 'GET /token',
  scope: SCOPES,
  endpointTokens: true,
  summary: 'Retrieve the token of the request',
  answer: recordResponse(OwnToken, 'The permissions of the token.'),
  handler: async ({ request: { principal } }) => renderOwnToken({ ...principal, id: principal.tokenId }),
})

const RevokeQuery = partial({
  cascade: Type.Boolean(
    describe(
      'Whether to also revoke the tokens, the portal links with their sessions, and the calendar URLs that the token created, and everything that these tokens created in turn. Default false.',
      true,
    ),
  ),
})

export const revokeToken = operation({
  route: 'DELETE /manage/tokens/:id',
  summary: 'Revoke a token',
  description:
    'Revokes a token within a second, together with the calendar URLs that expire when the token expires. With `cascade`, also revokes everything else that the token created and that grants access. Webhook endpoints, users, images and leads remain. The audit log shows what the token changed.',
  query: RevokeQuery,
  answer: recordResponse(TokenRecord, 'The revoked token.'),
  handler: async (call) => {
    const { pathId, accountId, clients, limits, valid, request } = call
    const tokenId = pathId()
    const { cascade = false } = await valid()
    const { token } = await clients.accounts.revokeToken({ accountId, tokenId, cascade }, limits)
    return renderToken(token!, request.principal.databaseNow(), await findCreators(call, [token!]))
  },
})
