/*
 * The identity provider with which people sign in (OpenID Connect, authorization code with PKCE).
 * openid-client checks the state, the nonce, the issuer, the audience, the expiry and the signature of the ID
 * token.
 *
 * The gateway reads the provider's metadata at the first sign-in, and keeps the metadata for an hour. The
 * gateway therefore starts and works without the provider. After a failure, the next sign-in reads the
 * metadata again.
 */
import { isEmail, isInvisible, isOneLine, oneLine, type Role } from '@leadwire/contracts'
import * as client from 'openid-client'
import { Agent, fetch } from 'undici'
import type { GatewayConfig } from '../config'
import { ProviderUnavailable, SignInFailure } from './sign-in-failure'

/** The secrets of a sign-in, which the browser keeps while the person is at the provider. */
export interface Flow {
  state: string
  nonce: string
  verifier: string
}

/** A person whom the provider has identified. */
export interface Person {
  email: string
  name: string
  /** The role for a new user. Undefined if no value of the claim has a role. */
  role: Role | undefined
}

export type IdentityProvider = ReturnType<typeof connectProvider>

type Settings = Pick<
  GatewayConfig,
  'OIDC_CLIENT_SECRET' | 'OIDC_NAME' | 'OIDC_ROLE_CLAIM' | 'OIDC_ROLES' | 'OIDC_SCOPES'
>

const TIMEOUT_S = 5
const FRESH_MS = 3_600_000
const MAX_NAME = 255

/** If several values of the claim have a role, the first of these roles wins. */
const MOST_RIGHTS_FIRST: readonly Role[] = ['admin', 'support', 'sales', 'viewer']

// Node's global agent would use the proxy of NODE_USE_ENV_PROXY.
const dispatcher = new Agent()

/** Sends a request to the provider. Throws ProviderUnavailable if the provider does not respond or fails. */
const fetchFromProvider: client.CustomFetch = async (url, options) => {
  const request = { ...options, dispatcher } as Parameters<typeof fetch>[1]
  const response = await fetch(url, request).catch((cause: unknown) => {
    throw new ProviderUnavailable('The identity provider does not respond.', { cause })
  })
  // The types of undici and of Node describe the same class, but TypeScript does not know this.
  if (response.status < 500 && response.status !== 429) return response as unknown as Response
  throw new ProviderUnavailable(`The identity provider responds with ${response.status}.`)
}

/** Returns a single line that can be the name of a user. */
const chooseName = (claim: unknown, email: string): string => {
  const line = typeof claim === 'string' ? oneLine(claim.trim()) : ''
  const name = [...line].slice(0, MAX_NAME).join('')
  return isOneLine(name) && !isInvisible(name) ? name : email
}

/** Returns the e-mail address in the claims. Throws SignInFailure unless the provider has verified it. */
const requireVerifiedEmail = ({ email, email_verified: isVerified }: Claims): string => {
  if (typeof email !== 'string' || email.length > MAX_NAME || !isEmail(email))
    throw new SignInFailure('unverified', 'The identity provider sends no email address.')
  if (isVerified !== true)
    throw new SignInFailure('unverified', 'The identity provider has not verified the email address.')
  return email
}

type Claims = Readonly<Record<string, unknown>>

const findRole = (claim: unknown, roles: ReadonlyMap<string, Role>): Role | undefined => {
  const values = [claim].flat().filter((value) => typeof value === 'string')
  const mapped = values.map((value) => roles.get(value))
  return MOST_RIGHTS_FIRST.find((role) => mapped.includes(role))
}

const connectProvider = (
  { issuer, clientId }: { issuer: string; clientId: string },
  settings: Settings,
  now: () => number,
) => {
  const { OIDC_NAME: name, OIDC_SCOPES: scopes, OIDC_ROLE_CLAIM: roleClaim, OIDC_ROLES: roles } = settings
  const scope = `openid email profile ${scopes}`.trim()

  // Reads the secret for each sign-in, because the file with the secret may change.
  const authenticate: client.ClientAuth = (server, ...others) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    const isBasic = methods.includes('client_secret_basic')
    const method = isBasic ? client.ClientSecretBasic : client.ClientSecretPost
    return method(settings.OIDC_CLIENT_SECRET)(server, ...others)
  }

  const discover = () =>
    client.discovery(new URL(issuer), clientId, undefined, authenticate, {
      [client.customFetch]: fetchFromProvider,
      timeout: TIMEOUT_S,
      execute: [
        // Checks the signature of the ID token, although it comes from the provider directly.
        client.enableNonRepudiationChecks,
        // The settings allow http:// only for a loopback address.
        ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
      ],
    })

  let latest: { configuration: Promise<client.Configuration>; at: number } | undefined
  const findConfiguration = (): Promise<client.Configuration> => {
    if (latest && now() - latest.at < FRESH_MS) return latest.configuration
    const discovery = { configuration: discover(), at: now() }
    latest = discovery
    discovery.configuration.catch(() => {
      if (latest === discovery) latest = undefined
    })
    return discovery.configuration
  }

  /**
   * Resolves with the claims of the ID token, and of the UserInfo response if the ID token lacks a claim.
   * Many providers send the e-mail address only in the UserInfo response.
   */
  const readClaims = async (
    configuration: client.Configuration,
    tokens: Awaited<ReturnType<typeof client.authorizationCodeGrant>>,
  ): Promise<{ idToken: Claims; userInfo: Claims }> => {
    const idToken = tokens.claims()!
    const needed = ['email', 'email_verified', ...(roleClaim === undefined ? [] : [roleClaim])]
    const isComplete = needed.every((claim) => idToken[claim] !== undefined)
    const { userinfo_endpoint: endpoint } = configuration.serverMetadata()
    if (isComplete || endpoint === undefined) return { idToken, userInfo: {} }
    const userInfo = await client.fetchUserInfo(configuration, tokens.access_token, idToken.sub)
    return { idToken, userInfo }
  }

  return {
    /** The text of the button on the sign-in page. */
    name,
    /** Resolves with the URL at which the person signs in, and with the secrets of the sign-in. */
    start: async (redirectUri: string): Promise<{ url: string; flow: Flow }> => {
      const configuration = await findConfiguration()
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      const verifier = client.randomPKCECodeVerifier()
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, flow: { state, nonce, verifier } }
    },
    /** Identifies the person whom the provider has sent to `callback`: the redirect URI with its query. */
    identify: async (callback: URL, { state, nonce, verifier }: Flow): Promise<Person> => {
      const configuration = await findConfiguration()
      const expected = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier }
      const tokens = await client.authorizationCodeGrant(configuration, callback, expected)
      const { idToken, userInfo } = await readClaims(configuration, tokens)
      // Takes the address and its verification from the same source.
      const email = requireVerifiedEmail(idToken['email'] === undefined ? userInfo : idToken)
      const role =
        roleClaim === undefined || roles === undefined
          ? undefined
          : findRole(idToken[roleClaim] ?? userInfo[roleClaim], roles)
      return { email, name: chooseName(idToken['name'] ?? userInfo['name'], email), role }
    },
  }
}

/** Returns the identity provider in the settings. Undefined if there is none. */
export const createIdentityProvider = (
  settings: Settings & Pick<GatewayConfig, 'OIDC_ISSUER' | 'OIDC_CLIENT_ID'>,
  now: () => number,
): IdentityProvider | undefined => {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = settings
  if (issuer === undefined || clientId === undefined) return undefined
  return connectProvider({ issuer, clientId }, settings, now)
}
