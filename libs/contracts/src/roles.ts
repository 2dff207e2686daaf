import type { Scope } from './scopes'

/** The roles of users who may sign in. */
export const ROLES = ['admin', 'sales', 'support', 'viewer'] as const

export type Role = (typeof ROLES)[number]

/** The scopes of a user's session. `admin` can do everything in the account. */
export const ROLE_SCOPES: Readonly<Record<Role, readonly Scope[]>> = {
  admin: ['leads', 'manage'],
  sales: ['leads', 'users:read'],
  support: ['leads:read', 'webhooks', 'manage:read'],
  viewer: ['leads:read', 'manage:read'],
}
