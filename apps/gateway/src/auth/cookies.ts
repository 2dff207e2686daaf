import { createHash } from 'node:crypto'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * `session`: the secret of a session. `browser`: a secret of the browser, to which the sign-in links that
 * this browser asks for are bound. `oidc`: the secrets of a sign-in with the identity provider that this
 * browser has started.
 */
type Kind = 'session' | 'browser' | 'oidc'

/** Reads and sets the cookies of people who sign in. */
export type Cookies = ReturnType<typeof createCookies>

/**
 * Names the cookies after the port of the API's address, because browsers send a cookie to all ports of a
 * host. Over https, the prefix `__Host-` prevents other hosts of the domain from setting the cookie.
 */
const nameCookies = (address: string) => {
  const { protocol, port } = new URL(address)
  const isSecure = protocol === 'https:'
  const defaultPort = isSecure ? '443' : '80'
  const prefix = isSecure ? '__Host-' : ''
  return { isSecure, name: (kind: Kind) => `${prefix}leadwire-${kind}-${port || defaultPort}` }
}

/** Makes the functions for the cookies of the API at `address`. */
export const createCookies = (address: string) => {
  const { isSecure, name } = nameCookies(address)
  const set = (reply: FastifyReply, kind: Kind, value: string, maxAgeS: number): void => {
    // Lax, not Strict: a person who follows a link from an e-mail or a chat to the console stays signed in.
    const attributes = {
      httpOnly: true,
      sameSite: 'lax',
      secure: isSecure,
      path: '/',
      maxAge: maxAgeS,
    } as const
    reply.header('set-cookie', stringifySetCookie({ name: name(kind), value, ...attributes }))
  }
  return {
    read: ({ headers }: FastifyRequest, kind: Kind): string | undefined =>
      headers.cookie === undefined ? undefined : parseCookie(headers.cookie)[name(kind)],
    set,
    clear: (reply: FastifyReply, kind: Kind): void => set(reply, kind, '', 0),
  }
}

/** Returns the SHA-256 of a browser's secret. */
export const hashBrowserSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()
