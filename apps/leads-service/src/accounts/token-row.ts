import type { Token } from '@leadwire/contracts'

export interface TokenRow {
  id: number
  name: string
  scopes: string[]
  test: boolean
  expires_at: string | null
  last_used_at: string | null
  revoked_at: string | null
  created_at: string
}

export const TOKEN_COLUMNS = 'id, name, scopes, test, expires_at, last_used_at, revoked_at, created_at'

export const tokenOfRow = (row: TokenRow): Token => ({
  id: row.id,
  name: row.name,
  scopes: row.scopes,
  test: row.test,
  expiresAt: row.expires_at ?? undefined,
  lastUsedAt: row.last_used_at ?? undefined,
  revokedAt: row.revoked_at ?? undefined,
  createdAt: row.created_at,
})
