import type { Actor } from '@leadwire/contracts'
import { type OpenTransaction, ServiceError, statement } from '@leadwire/service-kit'

export interface Creator {
  id: number
  name: string
  /** Null for a token that does not expire, and for a session: the user may sign in again. */
  expiresAt: string | null
  /** Null unless the caller is a user who has signed in. */
  userId: number | null
}

const lockValid = statement<Creator>('lock-creating-token')`
  SELECT id, name, CASE WHEN user_id IS NULL THEN expires_at END AS "expiresAt", user_id AS "userId"
  FROM tokens
  WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > clock_timestamp())
  FOR SHARE`

/**
 * Locks and returns the token with which a caller creates another token or a calendar. Returns undefined if
 * the caller is the command line, which has no token. Throws `unauthenticated` if the token has expired or
 * was revoked since the gateway verified it. A revocation of the locked token waits until the transaction
 * ends, so the revocation finds everything that the transaction creates.
 */
export const lockCreator = async (
  tx: OpenTransaction,
  actor: Actor | undefined,
  accountId: number,
): Promise<Creator | undefined> => {
  if (!actor) return undefined
  const [creator] = await lockValid(tx, accountId, actor.tokenId)
  if (!creator) throw new ServiceError('unauthenticated', 'The bearer token is not valid.')
  return creator
}
