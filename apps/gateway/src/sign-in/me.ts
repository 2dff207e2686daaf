import { ROLE_SCOPES, ROLES, type Role, SCOPES, type Session, SIGN_IN_LINK } from '@leadwire/contracts'
import { enumeration } from '@leadwire/requests'
import { type TSchema, Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { described, named, nullableScalar, nullableTimestamp, recordResponse } from '../api/schemas'
import { SIGN_IN_TAG } from './sign-in-links'

const nullableRole = (description: string): TSchema =>
  Type.Unsafe({
    type: ['string', 'null'],
    enum: [...ROLES, null],
    description,
    examples: ['sales'],
  })

const Me = described('Me', 'The user or the token that sends the request.', {
  type: enumeration(['user', 'token'], undefined, 'user'),
  id: Type.Integer({ description: 'The ID of the user or of the token.', examples: [1] }),
  name: Type.String({ examples: ['Grace Hopper'] }),
  email: nullableScalar('string', 'The email address of the user. null for a token.', 'sales@example.com'),
  role: nullableRole('The role of the user. null for a token.'),
  session_id: nullableScalar('integer', 'The ID of the session. null for a token.', 1),
  account: named('MyAccount', {
    id: Type.Integer({ examples: [1] }),
    name: Type.String({ examples: ['Clear Windows'] }),
  }),
  scopes: Type.Array(enumeration([...SCOPES], undefined), { examples: [['leads']] }),
  endpoint_id: nullableScalar(
    'integer',
    'The endpoint that the token is restricted to. null if the token is not restricted.',
  ),
  test: Type.Boolean({ description: 'Whether new leads are test leads.', examples: [false] }),
  expires_at: nullableTimestamp('When the session or the token expires. null if it does not expire.'),
})

export const MyResponse = recordResponse(Me, 'The user or the token.')

/** Returns a user who has signed in. */
export const renderUserAsMe = async (
  { accountId, clients, limits }: Call<unknown>,
  session: Pick<Session, 'id' | 'userId' | 'expiresAt'>,
) => {
  const [{ account }, { user }] = await Promise.all([
    clients.accounts.retrieveAccount({ accountId }, limits),
    clients.accounts.retrieveUser({ accountId, userId: session.userId }, limits),
  ])
  const { id, name, email, role = null } = user!
  return {
    type: 'user',
    id,
    name,
    email,
    role,
    session_id: session.id,
    account: { id: accountId, name: account!.name },
    scopes: role === null ? [] : ROLE_SCOPES[role as Role],
    endpoint_id: null,
    test: false,
    expires_at: session.expiresAt,
  }
}

const renderTokenAsMe = async ({ request: { principal }, clients, limits }: Call<unknown>) => {
  const { accountId, tokenId, name, scopes, endpointId, test, expiresAt } = principal
  const { account } = await clients.accounts.retrieveAccount({ accountId }, limits)
  return {
    type: 'token',
    id: tokenId,
    name,
    email: null,
    role: null,
    session_id: null,
    account: { id: accountId, name: account!.name },
    scopes,
    endpoint_id: endpointId ?? null,
    test,
    expires_at: expiresAt ?? null,
  }
}

export const retrieveMe = operation({
  route: 'GET /me',
  scope: [...SCOPES, SIGN_IN_LINK],
  endpointTokens: true,
  tag: SIGN_IN_TAG,
  summary: 'Retrieve who sends the request',
  description:
    'Returns the user who has signed in, or the token, with the account and the scopes. With a sign-in link as the bearer token, returns the user whom the link signs in.',
  answer: MyResponse,
  handler: async (call) => {
    const { tokenId, userId, expiresAt } = call.request.principal
    if (userId === undefined) return renderTokenAsMe(call)
    return renderUserAsMe(call, { id: tokenId, userId, expiresAt: expiresAt! })
  },
})
