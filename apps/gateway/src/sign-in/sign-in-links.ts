import { randomBytes } from 'node:crypto'
import { describe, text } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PUBLIC_BODY_BYTES } from '../admission/admission'
import { operation } from '../api/operation'
import { named, recordResponse } from '../api/schemas'
import { type Cookies, hashBrowserSecret } from '../auth/cookies'
import { ProblemError } from '../http/problem'

const LINK_MINUTES = 15
const BROWSER_SECRET_S = 3600

export const SIGN_IN_TAG = 'Sign-in'

const SignInLinkRequest = Type.Object(
  { email: text('The email address of the user.', 'sales@example.com', { format: 'email' }) },
  { title: 'SignInLinkRequest' },
)

const SentSignInLink = named('SentSignInLink', {
  expires_in_minutes: Type.Integer(describe('How long the link works.', LINK_MINUTES)),
})

export const foreignPage = () =>
  new ProblemError('forbidden', 'The request comes from a page of another site. Open the console to sign in.')

/** Returns the secret of a browser, and keeps it in the browser for a further hour. */
export const keepBrowserSecret = (cookies: Cookies, request: FastifyRequest, reply: FastifyReply): string => {
  const secret = cookies.read(request, 'browser') || randomBytes(32).toString('base64url')
  cookies.set(reply, 'browser', secret, BROWSER_SECRET_S)
  return secret
}

export const requestSignInLink = operation({
  route: 'POST /sign-in-links',
  scope: null,
  tag: SIGN_IN_TAG,
  summary: 'Request a sign-in link',
  description:
    'Sends an email with a sign-in link to each user with this email address who has a role. The link works once, within 15 minutes, and only in the browser that sent this request, which gets a cookie. The response does not reveal whether there is such a user. A user gets at most 5 links in an hour.',
  body: SignInLinkRequest,
  bodyLimit: PUBLIC_BODY_BYTES,
  answer: { ...recordResponse(SentSignInLink, 'An email is sent if the user exists.'), status: 202 },
  problems: ['forbidden', 'rate-limited'],
  handler: async ({ request, reply, clients, limits, valid, dependencies }) => {
    const { cookies, findSender, countSignIn, configuredAddress } = dependencies
    if (findSender(request) === 'other') throw foreignPage()
    const { email } = await valid()
    await countSignIn(request, reply)
    const browserHash = hashBrowserSecret(keepBrowserSecret(cookies, request, reply))
    await clients.accounts.sendSignInLinks(
      { email, browserHash, consoleUrl: `${configuredAddress}/console` },
      limits,
    )
    reply.code(202)
    return { expires_in_minutes: LINK_MINUTES }
  },
})
