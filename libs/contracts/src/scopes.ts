/** What a token may do. */
export const SCOPES = [
  'leads',
  'leads:read',
  'leads:create',
  'events:read',
  'webhooks',
  'manage:read',
  'manage',
] as const

export type Scope = (typeof SCOPES)[number]

/** The scopes that another includes. */
const INCLUDES: Partial<Record<string, readonly Scope[]>> = {
  leads: ['leads:read', 'leads:create'],
  manage: ['manage:read', 'webhooks', 'events:read'],
}

/** Whether a token with the scopes may do what needs one of `needed`. */
export const grants = (scopes: readonly string[], needed: readonly string[]): boolean =>
  scopes.some((held) => needed.some((scope) => scope === held || INCLUDES[held]?.includes(scope as Scope)))

/** The scope of a portal link: it opens the session and nothing else. No token can be created with it. */
export const PORTAL_LINK = 'portal-link'
