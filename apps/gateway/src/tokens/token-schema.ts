import type { Token } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { SCOPES } from '../auth/authenticate'
import { nullableTimestamp, timestamp } from '../docs/shared-schemas'

export const TokenRecord = Type.Object(
  {
    id: Type.Integer({ examples: [1] }),
    name: Type.String({ examples: ['Website form'] }),
    scopes: Type.Array(Type.Unsafe<string>({ type: 'string', enum: SCOPES }), { examples: [['leads']] }),
    test: Type.Boolean({ description: 'Leads made with it are test leads.', examples: [false] }),
    expires_at: nullableTimestamp('Null when it does not expire.'),
    last_used_at: nullableTimestamp('Null when it was never used.'),
    revoked_at: nullableTimestamp('Null until it is revoked.'),
    created_at: timestamp('When it was made.'),
  },
  {
    title: 'Token',
    description: 'What is known of a bearer token. The token itself is shown once, when it is made.',
  },
)

/** A token's public record. */
export const tokenRecord = (token: Token) => ({
  id: token.id,
  name: token.name,
  scopes: token.scopes,
  test: token.test,
  expires_at: token.expiresAt ?? null,
  last_used_at: token.lastUsedAt ?? null,
  revoked_at: token.revokedAt ?? null,
  created_at: token.createdAt,
})
