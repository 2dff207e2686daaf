import type { Actor } from '@leadwire/contracts'
import { type OpenTransaction, recordAudit, statement } from '@leadwire/service-kit'

/** SQL: the assignments that revoke a user's calendar. */
export const WITHOUT_CALENDAR =
  'calendar_hash = NULL, calendar_created_at = NULL, calendar_token_id = NULL, calendar_expires_at = NULL'

const end = statement<{ userId: number; createdAt: string }>('end-calendars-of-tokens')`
  WITH ended AS (
    SELECT id, calendar_created_at FROM users
    WHERE account_id = $1 AND calendar_token_id = ANY ($2::bigint[]) AND calendar_hash IS NOT NULL
      AND ($3 OR calendar_expires_at IS NOT NULL)
    ORDER BY id FOR NO KEY UPDATE
  )
  UPDATE users u SET ${WITHOUT_CALENDAR}
  FROM ended WHERE u.account_id = $1 AND u.id = ended.id
  RETURNING u.id AS "userId", ended.calendar_created_at AS "createdAt"`

/**
 * Revokes the calendars that the tokens created, and records each revocation in the audit log. Without `all`,
 * revokes only calendars that have an expiry.
 */
export const endCalendars = async (
  tx: OpenTransaction,
  actor: Actor | undefined,
  { accountId, tokenIds, all }: { accountId: number; tokenIds: number[]; all: boolean },
): Promise<void> => {
  for (const { userId, createdAt } of await end(tx, accountId, tokenIds, all)) {
    const changes = { calendar_created_at: { from: createdAt, to: null } }
    recordAudit(tx, actor, { accountId, action: 'user.calendar_revoked', targetId: userId, changes })
  }
}
