import { SCOPES, SIGN_IN_LINK } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import { described, listResponse, named, recordResponse, timestamp } from '../api/schemas'
import { hashBrowserSecret } from '../auth/cookies'
import { MyResponse, renderUserAsMe } from './me'
import { foreignPage, SIGN_IN_TAG } from './sign-in-links'

const SESSION_S = 7 * 24 * 3600

const SessionRecord = described('Session', 'A browser in which a user has signed in.', {
  id: Type.Integer({ examples: [1] }),
  created_at: timestamp('When the user signed in.'),
  last_used_at: timestamp('When the session was last used, to within 10 seconds.'),
  expires_at: timestamp(
    'When the session ends at the latest. It also ends after 12 hours without a request.',
  ),
})

const renderSession = createRecordRenderer(SessionRecord)

const MySession = described('MySession', 'A browser in which the user has signed in.', {
  ...SessionRecord.properties,
  current: Type.Boolean({ description: 'Whether this is the session of the request.', examples: [true] }),
})

const EndedResponse = recordResponse(
  named('EndedSessions', {
    ended: Type.Integer({ description: 'The number of ended sessions.', examples: [1] }),
  }),
  'The number of ended sessions.',
)

export const createSession = operation({
  route: 'POST /sessions',
  scope: SIGN_IN_LINK,
  tag: SIGN_IN_TAG,
  summary: 'Open a sign-in link',
  description:
    'Exchanges a sign-in link for a session. Works once for each link. Send the part of the link after `#sign-in=` as the bearer token. The session is in a cookie that only pages of this API can use. Programs use tokens instead.',
  answer: MyResponse,
  problems: ['conflict'],
  handler: async (call) => {
    const { request, reply, accountId, clients, limits, dependencies } = call
    const { cookies, findSender } = dependencies
    if (findSender(request) === 'other') throw foreignPage()
    const secret = cookies.read(request, 'browser')
    const opened = await clients.accounts.openSignInLink(
      {
        accountId,
        tokenId: request.principal.tokenId,
        browserHash: secret === undefined ? undefined : hashBrowserSecret(secret),
      },
      limits,
    )
    cookies.set(reply, 'session', opened.secret, SESSION_S)
    return renderUserAsMe(call, opened.session!)
  },
})

export const listMySessions = operation({
  route: 'GET /me/sessions',
  scope: SCOPES,
  tag: SIGN_IN_TAG,
  summary: 'List own sessions',
  description:
    'Returns the valid sessions of the user who has signed in, newest first, at most 100. A token has no sessions.',
  answer: listResponse(MySession, 'The sessions.'),
  handler: async ({ accountId, clients, limits, request: { principal } }) => {
    const { userId, tokenId } = principal
    if (userId === undefined) return []
    const { sessions } = await clients.accounts.listSessions({ accountId, userId }, limits)
    return sessions.map((session) => ({ ...renderSession(session), current: session.id === tokenId }))
  },
})

export const endMySession = operation({
  route: 'DELETE /me/sessions/:id',
  scope: SCOPES,
  tag: SIGN_IN_TAG,
  summary: 'End an own session',
  description:
    'Ends a session of the user who has signed in, within a second. Ends the current session to sign out.',
  answer: EndedResponse,
  handler: async ({ accountId, clients, limits, pathId, request: { principal }, reply, dependencies }) => {
    const sessionId = pathId()
    const { userId, tokenId } = principal
    if (userId === undefined) throw new ServiceError('not_found', 'There is no such session.')
    const { ended } = await clients.accounts.endSessions({ accountId, userId, sessionId }, limits)
    if (sessionId === tokenId) dependencies.cookies.clear(reply, 'session')
    return { ended }
  },
})

export const listUserSessions = operation({
  route: 'GET /manage/users/:id/sessions',
  summary: "List a user's sessions",
  description: 'Returns the valid sessions of a user, newest first, at most 100.',
  answer: listResponse(SessionRecord, 'The sessions.'),
  handler: async ({ accountId, clients, limits, pathId }) => {
    const key = { accountId, userId: pathId() }
    await clients.accounts.retrieveUser(key, limits)
    const { sessions } = await clients.accounts.listSessions(key, limits)
    return sessions.map(renderSession)
  },
})

export const endUserSessions = operation({
  route: 'DELETE /manage/users/:id/sessions',
  summary: "End a user's sessions",
  description:
    'Ends all sessions of a user, within a second, and invalidates sign-in links that the user has not opened.',
  answer: EndedResponse,
  handler: async ({ accountId, clients, limits, pathId }) => {
    const key = { accountId, userId: pathId() }
    await clients.accounts.retrieveUser(key, limits)
    const { ended } = await clients.accounts.endSessions(key, limits)
    return { ended }
  },
})
