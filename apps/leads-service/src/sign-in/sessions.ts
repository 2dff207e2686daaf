/*
 * A session is a token of a user. It has the scopes of the user's role. It ends after 12 hours without a
 * request, after 7 days, when the user signs out, when the role changes, or when the user is removed. Only
 * the hash of its secret is stored.
 */
import { ROLE_SCOPES, type Role, SIGN_IN_LINK } from '@leadwire/contracts'
import { type OpenTransaction, recordAudit, ServiceError, statement } from '@leadwire/service-kit'
import type { Operation } from '../operation'
import { IS_NOT_IDLE, newSecret } from '../tokens/tokens'

const MAX_LISTED = 100

const SESSION_COLUMNS = `id, user_id AS "userId", created_at AS "createdAt", last_used_at AS "lastUsedAt",
  expires_at AS "expiresAt"`

const IS_VALID = `revoked_at IS NULL AND expires_at > clock_timestamp() AND ${IS_NOT_IDLE}`

interface Session {
  id: number
  userId: number
  createdAt: string
  lastUsedAt: string
  expiresAt: string
}

const findUser = statement<{ userId: number }>('find-user-of-link')`
  SELECT user_id AS "userId" FROM tokens WHERE account_id = $1 AND id = $2 AND user_id IS NOT NULL`

const lockRole = statement<{ role: Role | null }>('lock-role')`
  SELECT role FROM users WHERE account_id = $1 AND id = $2 AND removed_at IS NULL FOR SHARE`

const lockLink = statement<{ browserHash: Buffer | null }>('lock-sign-in-link')`
  SELECT browser_hash AS "browserHash" FROM tokens
  WHERE account_id = $1 AND id = $2 AND scopes = ARRAY[$3::text] AND revoked_at IS NULL
    AND expires_at > clock_timestamp()
  FOR NO KEY UPDATE`

const startSession = statement<Session>('start-session')`
  UPDATE tokens SET hash = :hash, scopes = :scopes::text[], browser_hash = NULL, created_at = clock_timestamp(),
    last_used_at = clock_timestamp(), expires_at = clock_timestamp() + interval '7 days'
  WHERE account_id = :accountId AND id = :tokenId
  RETURNING ${SESSION_COLUMNS}`

const WORKS_NO_LONGER = 'The link has expired or was used. Ask for a new one.'

/**
 * Turns a sign-in link into a session of its user. Throws `conflict` if the link works no longer, and
 * `forbidden` if another browser asked for the link.
 */
export const openSignInLink: Operation<'openSignInLink'> = ({ database, actor }, request) =>
  database.transaction(async (tx) => {
    const { accountId, tokenId, browserHash } = request
    const [link] = await findUser(tx, accountId, tokenId)
    if (!link) throw new ServiceError('conflict', WORKS_NO_LONGER)
    const { userId } = link
    // Locks the user before the link, as a change of the role does.
    const [user] = await lockRole(tx, accountId, userId)
    const [unopened] = await lockLink(tx, accountId, tokenId, SIGN_IN_LINK)
    if (!unopened || !user?.role) throw new ServiceError('conflict', WORKS_NO_LONGER)
    const { browserHash: asking } = unopened
    if (asking && !(browserHash && asking.equals(browserHash)))
      throw new ServiceError(
        'forbidden',
        'Open the link in the browser in which you asked for it, or ask for a new one in this browser.',
      )
    const { secret, hash } = newSecret('session')
    const scopes = ROLE_SCOPES[user.role]
    const [session] = await startSession(tx, { accountId, tokenId, hash, scopes })
    recordAudit(tx, actor, { accountId, action: 'session.started', targetId: tokenId })
    return { session, secret }
  })

const listValid = statement<Session>('list-sessions')`
  SELECT ${SESSION_COLUMNS} FROM tokens t
  WHERE account_id = $1 AND user_id = $2 AND scopes <> ARRAY['${SIGN_IN_LINK}'] AND ${IS_VALID}
  ORDER BY account_id DESC, user_id DESC, id DESC LIMIT ${MAX_LISTED}`

export const listSessions: Operation<'listSessions'> = async ({ database }, { accountId, userId }) => ({
  sessions: await listValid(database, accountId, userId),
})

const revoke = statement<{ id: number; isLink: boolean }>('end-sessions')`
  UPDATE tokens SET revoked_at = clock_timestamp()
  WHERE account_id = :accountId AND user_id = :userId AND revoked_at IS NULL
    AND (:sessionId::bigint IS NULL OR id = :sessionId)
  RETURNING id, scopes = ARRAY['${SIGN_IN_LINK}'] AS "isLink"`

/**
 * Ends the sessions of a user, and invalidates the links that the user has not opened. With `sessionId`, ends
 * only this session. Resolves with the number of ended sessions.
 */
export const revokeSessions = async (
  tx: OpenTransaction,
  { accountId, userId, sessionId = null }: { accountId: number; userId: number; sessionId?: number | null },
): Promise<number[]> => {
  const revoked = await revoke(tx, { accountId, userId, sessionId })
  return revoked.filter(({ isLink }) => !isLink).map(({ id }) => id)
}

const revokeUnopened = statement('revoke-sign-in-links')`
  UPDATE tokens SET revoked_at = clock_timestamp()
  WHERE account_id = $1 AND user_id = $2 AND revoked_at IS NULL AND scopes = ARRAY['${SIGN_IN_LINK}']`

/** Invalidates the links that a user has not opened. Sessions go on. */
export const revokeLinks = (tx: OpenTransaction, accountId: number, userId: number): void =>
  revokeUnopened.send(tx, accountId, userId)

/** Ends one session of a user, or all. Throws `not_found` if `sessionId` is not a session of the user. */
export const endSessions: Operation<'endSessions'> = ({ database, actor }, request) =>
  database.transaction(async (tx) => {
    const { accountId, userId, sessionId } = request
    const ended = await revokeSessions(tx, { accountId, userId, sessionId: sessionId ?? null })
    if (sessionId !== undefined && ended.length === 0)
      throw new ServiceError('not_found', 'There is no such session.')
    for (const targetId of ended) recordAudit(tx, actor, { accountId, action: 'session.ended', targetId })
    return { ended: ended.length }
  })
