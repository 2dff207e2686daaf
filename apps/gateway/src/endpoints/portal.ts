import { PORTAL_LINK } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { hasEndpoint } from '../api/has-endpoint'
import { operation } from '../api/operation'
import { dataOf, named, timestamp } from '../api/schemas'
import { ProblemError } from '../http/problem'

const LINK_MS = 3_600_000
const SESSION_MS = 8 * LINK_MS

const PortalLink = named('PortalLink', {
  url: Type.String({ format: 'uri', examples: ['https://api.example.com/console#portal=lw_live_bGluaw'] }),
  expires_at: timestamp('Until then it can be opened.'),
})

export const createPortalLink = operation({
  route: 'POST /manage/webhook-endpoints/:id/portal',
  summary: 'Create a link to the console for one webhook endpoint',
  description:
    'For the operator of the receiver. The link can be opened once, within an hour. The console then shows this endpoint and its deliveries alone, for 8 hours. The link, and later its session, is a token of this endpoint among the tokens of the account: revoke it to end it. A token that expires within 9 hours can not create a link.',
  endpointTokens: false,
  savesResponse: true,
  answer: dataOf(PortalLink, 'The link. It is shown only here.'),
  handler: async ({ pathId, request, accountId, clients, limits, dependencies }) => {
    const { now, addressOf } = dependencies
    const endpointId = pathId()
    if ((request.principal.expiresAtMs ?? Number.POSITIVE_INFINITY) < now() + LINK_MS + SESSION_MS)
      throw new ProblemError('forbidden', 'A token that expires within 9 hours can not create a link.')
    await clients.webhooks.retrieveWebhookEndpoint({ accountId, endpointId }, limits)
    const { token, secret } = await clients.accounts.createToken(
      {
        ...{ accountId, endpointId, name: `Portal of endpoint ${endpointId}`, scopes: [PORTAL_LINK] },
        ...{ test: request.principal.test, expiresAt: new Date(now() + LINK_MS).toISOString() },
      },
      limits,
    )
    // Browsers send no fragment, so the secret is in no log of a server or a proxy.
    return { url: `${addressOf(request)}/console#portal=${secret}`, expires_at: token!.expiresAt }
  },
})

const PortalSession = named('PortalSession', {
  token: Type.String({ description: 'A token of the endpoint, shown only here.', examples: ['lw_live_…'] }),
  endpoint_id: Type.Integer({ examples: [1] }),
  expires_at: timestamp('When the session ends.'),
})

export const openPortalLink = operation({
  route: 'POST /portal-sessions',
  tag: 'Webhooks',
  summary: 'Open a portal link',
  description:
    'Exchanges a portal link for the token of a session, once. The bearer token of the request is what the link has after `#portal=`.',
  scope: PORTAL_LINK,
  endpointTokens: true,
  answer: dataOf(PortalSession, 'The session.'),
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
