/** What a token may do. */
export const SCOPES = ['leads', 'leads:read', 'events:read', 'manage'] as const

export type Scope = (typeof SCOPES)[number]

/** The scopes that are part of another. */
export const INCLUDED_IN: Partial<Record<Scope, Scope>> = { 'leads:read': 'leads', 'events:read': 'manage' }
