/*
 * Sign-in with the identity provider. A person opens START_PATH, signs in at the provider, and comes back to
 * CALLBACK_PATH. In the meantime, a cookie of the browser keeps the secrets of the sign-in. A browser can
 * therefore finish only a sign-in that it has started.
 *
 * The callback redirects to the console. The fragment of the URL, which browsers do not send, has the result:
 *
 * - `#sign-in=SECRET&now`: a sign-in link of this browser, which the console opens at once
 * - `#choose=[{"account", "secret"}]`: such links for several accounts, of which the person chooses one
 * - `#sign-in-failed=REASON`: see FailureReason
 */
import type { AccountLink } from '@leadwire/contracts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CountRequest } from '../admission/rate-limits'
import { createCallLimits } from '../api/call-limits'
import type { Dependencies } from '../api/operation'
import { hashBrowserSecret } from '../auth/cookies'
import type { Flow, IdentityProvider } from './identity-provider'
import { describeFailure, SignInFailure } from './sign-in-failure'
import { keepBrowserSecret } from './sign-in-links'

export const START_PATH = '/sign-in/oidc'
const CALLBACK_PATH = `${START_PATH}/callback`

/** How long a person may take at the provider. */
const FLOW_S = 600

// Keeps the Location header short, because proxies refuse a response with large headers.
const MAX_ACCOUNT_NAME = 60

const writeFlow = ({ state, nonce, verifier }: Flow): string => [state, nonce, verifier].join('.')

const readFlow = (cookie = ''): Flow => {
  const [, state, nonce, verifier] = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(cookie) ?? []
  if (state !== undefined && nonce !== undefined && verifier !== undefined) return { state, nonce, verifier }
  throw new SignInFailure('failed', 'This browser has started no sign-in within the last 10 minutes.')
}

/** Returns the query of a request, with its question mark. */
const readSearch = ({ url }: FastifyRequest): string => {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at)
}

const shorten = (name: string): string => [...name].slice(0, MAX_ACCOUNT_NAME).join('')

const readSecret = ({ url }: AccountLink): string => url.slice(url.indexOf('=') + 1)

/** Returns the URL of the console that signs the person in. */
const buildConsoleUrl = (consoleUrl: string, links: AccountLink[]): string => {
  const [first, ...others] = links
  if (!first) throw new SignInFailure('unknown', 'No user with this email address may sign in.')
  if (others.length === 0) return `${first.url}&now`
  const choices = links.map((link) => ({ account: shorten(link.accountName), secret: readSecret(link) }))
  return `${consoleUrl}#choose=${encodeURIComponent(JSON.stringify(choices))}`
}

export const singleSignOn = (
  app: FastifyInstance,
  {
    clients,
    configuredAddress,
    cookies,
    logger,
    identityProvider,
    countSingleSignOn,
    createInAccountId,
  }: Pick<Dependencies, 'clients' | 'configuredAddress' | 'cookies' | 'logger'> & {
    identityProvider: IdentityProvider
    countSingleSignOn: CountRequest
    /** The account in which users are created. Undefined: no user is created. */
    createInAccountId: number | undefined
  },
): void => {
  const redirectUri = `${configuredAddress}${CALLBACK_PATH}`
  const consoleUrl = `${configuredAddress}/console`

  /** Starts a sign-in. Resolves with the URL of the provider. */
  const start = async (_request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    const { url, flow } = await identityProvider.start(redirectUri)
    cookies.set(reply, 'oidc', writeFlow(flow), FLOW_S)
    return url
  }

  /** Finishes a sign-in. Resolves with the URL of the console. */
  const finish = async (request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    // A sign-in can be finished only once.
    cookies.clear(reply, 'oidc')
    const flow = readFlow(cookies.read(request, 'oidc'))
    const person = await identityProvider.identify(new URL(`${redirectUri}${readSearch(request)}`), flow)
    const browserHash = hashBrowserSecret(keepBrowserSecret(cookies, request, reply))
    const asked = { ...person, browserHash, consoleUrl, createInAccountId }
    const { links } = await clients.accounts.signInByEmail(asked, createCallLimits(reply))
    return buildConsoleUrl(consoleUrl, links)
  }

  const addRedirect = (url: string, findTarget: typeof start) =>
    app.get(url, {
      schema: { hide: true },
      exposeHeadRoute: false,
      onRequest: countSingleSignOn,
      handler: async (request, reply) => {
        reply.header('cache-control', 'no-store')
        try {
          return reply.redirect(await findTarget(request, reply), 303)
        } catch (error) {
          const failure = describeFailure(error)
          logger.warn({ ...failure, request_id: request.id }, 'could not sign a person in')
          return reply.redirect(`${consoleUrl}#sign-in-failed=${failure.reason}`, 303)
        }
      },
    })
  addRedirect(START_PATH, start)
  addRedirect(CALLBACK_PATH, finish)
}
