import { PORTAL_LINK } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { hasEndpoint } from '../api/has-endpoint'
import { operation } from '../api/operation'
import { named, recordResponse, timestamp } from '../api/schemas'
import { ProblemError } from '../http/problem'

const LINK_MS = 3_600_000
const SESSION_MS = 8 * LINK_MS

const PortalLink = named('PortalLink', {
  url: Type.String({ format: 'uri', examples: ['https://api.example.com/console#portal=lw_live_bGluaw'] }),
  expires_at: timestamp('When the link expires.'),
})

export const createPortalLink = operation({
  route: 'POST /manage/webhook-endpoints/:id/portal',
  summary: 'Create a portal link for a webhook endpoint',
  description:
    'Creates a link to the console for the operator of the receiver. The link works once, within an hour. The console then shows only this endpoint and its deliveries, for 8 hours. The link, and later its session, is a token in the list of tokens: revoke this token to end access. A token that expires within 9 hours cannot create a link.',
  endpointTokens: false,
  savesResponse: true,
  answer: recordResponse(PortalLink, 'The link, shown only in this response.'),
  handler: async ({ pathId, request, accountId, clients, limits, dependencies }) => {
    const { configuredAddress } = dependencies
    const now = request.principal.databaseNow()
    const endpointId = pathId()
    const { userId, expiresAtMs = Number.POSITIVE_INFINITY } = request.principal
    // The session of a user expires, but the user may sign in again.
    if (userId === undefined && expiresAtMs < now + LINK_MS + SESSION_MS)
      throw new ProblemError(
        'forbidden',
        'A token that expires within 9 hours cannot create a link. Use another token.',
      )
    await clients.webhooks.retrieveWebhookEndpoint({ accountId, endpointId }, limits)
    const { token, secret } = await clients.accounts.createToken(
      {
        accountId,
        endpointId,
        name: `Portal of endpoint ${endpointId}`,
        scopes: [PORTAL_LINK],
        test: request.principal.test,
        expiresAt: new Date(now + LINK_MS).toISOString(),
      },
      limits,
    )
    // Puts the secret into the fragment of the URL. Browsers do not send the fragment, so the secret appears
    // in no log of a server or a proxy.
    return { url: `${configuredAddress}/console#portal=${secret}`, expires_at: token!.expiresAt }
  },
})

const PortalSession = named('PortalSession', {
  token: Type.String({
    description: 'A token that is restricted to the endpoint. Shown only in this response.',
    examples: ['lw_live_…'],
  }),
  endpoint_id: Type.Integer({ examples: [1] }),
  expires_at: timestamp('When the session ends.'),
})

export const openPortalLink = operation({
  route: 'POST /portal-sessions',
  tag: 'Webhooks',
  summary: 'Open a portal link',
  description:
    'Exchanges a portal link for a session token. Works once for each link. Send the part of the link after `#portal=` as the bearer token.',
  scope: PORTAL_LINK,
  endpointTokens: true,
  answer: recordResponse(PortalSession, 'The session.'),
  problems: ['conflict'],
  handler: async (call) => {
    const { request, accountId, clients, limits } = call
    if (!(await hasEndpoint(call)))
      throw new ServiceError('conflict', 'The webhook endpoint of this link was deleted.')
    const key = { accountId, tokenId: request.principal.tokenId }
    const { token, secret } = await clients.accounts.openPortalLink(key, limits)
    return { token: secret, endpoint_id: token!.endpointId, expires_at: token!.expiresAt }
  },
})
