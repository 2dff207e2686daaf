/** The scopes that callers of the API can give to a token. */
export const SCOPES = [
  'leads',
  'leads:read',
  'leads:create',
  'events:read',
  'webhooks',
  'users:read',
  'manage:read',
  'manage',
] as const

export type Scope = (typeof SCOPES)[number]

/** The scopes that a scope includes. */
const INCLUDES: Partial<Record<string, readonly Scope[]>> = {
  leads: ['leads:read', 'leads:create'],
  manage: ['manage:read', 'users:read', 'webhooks', 'events:read'],
  'manage:read': ['users:read'],
}

/** Returns whether one of the scopes is in `needed`, or includes a scope in `needed`. */
export const grants = (scopes: readonly string[], needed: readonly string[]): boolean =>
  scopes.some((held) => needed.some((scope) => scope === held || INCLUDES[held]?.includes(scope as Scope)))

/**
 * The scope of a portal link, which can only open its session. Callers of the API cannot request this
 * scope.
 */
export const PORTAL_LINK = 'portal-link'

/**
 * The scope of a sign-in link, which can only be turned into a session. Callers of the API cannot request
 * this scope.
 */
export const SIGN_IN_LINK = 'sign-in-link'

/** Returns the context in which the sign-in link of a notification is encrypted. */
export const signInLinkContext = (eventId: string): string => `sign-in-link:${eventId}`
