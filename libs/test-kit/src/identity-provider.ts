import { join } from 'node:path'
import { type Child, freePort, startChild, whenReady } from '@leadwire/embedded'
import { watchProcess } from './watch-process'

/** The claims about a person. */
export type IdentityClaims = {
  email?: string
  email_verified?: boolean
  name?: string
  groups?: string | string[]
}

export type IdentityProvider = {
  /** The settings of a gateway that uses the provider. */
  settings: { OIDC_ISSUER: string; OIDC_CLIENT_ID: string; OIDC_CLIENT_SECRET: string }
  /** Starts the provider, each time at the same address and without sessions. */
  start(): Promise<void>
  stop(): Promise<void>
}

const PROGRAM = join(__dirname, '../identity-provider.mjs')

/**
 * Prepares an identity provider (OpenID Connect) that identifies people without a password. `people` has the
 * claims about each person by the name that `signInAt` takes. The provider does not run before `start`.
 */
export async function prepareIdentityProvider(options: {
  people: Record<string, IdentityClaims>
  /** Returns the URLs to which the provider may redirect. Called by `start`. */
  redirectUris: () => string[]
}): Promise<IdentityProvider> {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const secret = 'a secret of the client: 100% + /'
  let running: Child | undefined
  const start = async () => {
    const client = { client_id: 'leadwire', client_secret: secret, redirect_uris: options.redirectUris() }
    const given = JSON.stringify({ port, client, people: options.people })
    const env = { ...process.env, IDENTITY_PROVIDER: given, NODE_OPTIONS: '' }
    const name = 'identity provider'
    const child = watchProcess(await startChild({ name, command: process.execPath, args: [PROGRAM], env }))
    running = child
    const answers = async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).ok
    await whenReady(child, answers, { timeoutMs: 30_000 })
  }
  return {
    settings: { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'leadwire', OIDC_CLIENT_SECRET: secret },
    start,
    stop: async () => {
      await running?.stop()
    },
  }
}

/**
 * Signs a person in at the identity provider, as a browser without cookies does. `authorizationUrl` is the
 * URL to which the gateway redirects. Resolves with the URL to which the provider redirects in the end.
 */
export async function signInAt(authorizationUrl: string, person: string): Promise<URL> {
  let url = new URL(authorizationUrl)
  const { origin } = url
  url.searchParams.set('login_hint', person)
  const cookies = new Map<string, string>()
  while (url.origin === origin) {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!
      cookies.set(name!, value!)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`no redirect, but ${response.status}: ${await response.text()}`)
    url = new URL(location, url)
  }
  return url
}
