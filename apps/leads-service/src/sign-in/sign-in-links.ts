/*
 * A sign-in link is a token with the scope `sign-in-link`, which can do only one thing: become the session of
 * its user (sessions.ts). A link works once. Its URL has the secret in the fragment, which browsers
 * do not send, so the secret appears in no log of a server or a proxy.
 */
import {
  emailForm,
  NotificationRequested,
  SIGN_IN_LINK,
  signInLinkContext,
  type User,
} from '@leadwire/contracts'
import {
  activeTraceparent,
  newEventId,
  type OpenTransaction,
  recordAudit,
  type Sealer,
  ServiceError,
  statement,
} from '@leadwire/service-kit'
import type { Operation } from '../operation'
import { type OutboxEvent, parkEvents, recordingTransaction, releaseEvents } from '../outbox/record-events'
import { newSecret } from '../tokens/tokens'

const LINK_MINUTES = 15
const INVITATION_MINUTES = 7 * 24 * 60

/** The maximum number of links that a user can request by e-mail in an hour. */
const LINKS_PER_HOUR = 5
/** The maximum number of accounts for which a request sends links. */
const ACCOUNTS_PER_REQUEST = 20

const insertLink = statement<{ expiresAt: string }>('insert-sign-in-link')`
  INSERT INTO tokens (account_id, user_id, name, hash, scopes, browser_hash, expires_at)
  VALUES (:accountId, :userId, :name, :hash, ARRAY[:scope::text], :browserHash,
    clock_timestamp() + :minutes::int * interval '1 minute')
  RETURNING expires_at AS "expiresAt"`

interface NewLink {
  accountId: number
  userId: number
  minutes: number
  consoleUrl: string
  /** Limits the link to one browser. */
  browserHash?: Uint8Array
  /**
   * `sso`: the identity provider has just identified the person. Such a link is always limited to one
   * browser, so the console opens the link without a question.
   */
  kind?: 'link' | 'sso'
}

/** Creates a link. Resolves with its URL, and with the time at which it stops working. */
export const createLink = async (
  tx: OpenTransaction,
  link: NewLink,
): Promise<{ url: string; expiresAt: string }> => {
  const { accountId, userId, minutes, consoleUrl, browserHash = null, kind = 'link' } = link
  const { secret, hash } = newSecret(kind)
  const row = { accountId, userId, name: `User ${userId}`, hash, scope: SIGN_IN_LINK, browserHash, minutes }
  const [created] = await insertLink(tx, row)
  return { url: `${consoleUrl}#sign-in=${secret}`, expiresAt: created!.expiresAt }
}

interface Recipient {
  accountId: number
  accountName: string
  userId: number
  email: string
  name: string
}

/** Builds the event that sends a link by e-mail. The link is encrypted, because the event is stored. */
const buildLinkEvent = (
  { accountId, accountName, userId, email, name }: Recipient,
  subject: 'sign_in' | 'invitation',
  link: { url: string; expiresAt: string },
  sealer: Sealer,
): OutboxEvent => {
  const eventId = newEventId()
  const payload = NotificationRequested.encode(
    NotificationRequested.fromPartial({
      eventId,
      accountId,
      accountName,
      subject,
      userId,
      userEmail: email,
      userName: name,
      requestedAt: new Date().toISOString(),
      sealedLink: sealer.seal(link.url, signInLinkContext(eventId)),
      linkExpiresAt: link.expiresAt,
    }),
  ).finish()
  const traceparent = activeTraceparent()
  return { eventId, accountId, type: 'notification.requested', payload, leadReference: null, traceparent }
}

const findAccountName = statement<{ name: string }>('find-account-name')`
  SELECT name FROM accounts WHERE id = $1`

/**
 * Records an invitation in the transaction that gives a user a role. The outbox publishes the event after the
 * commit.
 */
export const recordInvitation = async (
  tx: OpenTransaction,
  sealer: Sealer,
  { accountId, user, consoleUrl }: { accountId: number; user: User; consoleUrl: string },
): Promise<void> => {
  const { id: userId, email, name } = user
  const [account] = await findAccountName(tx, accountId)
  const link = await createLink(tx, { accountId, userId, minutes: INVITATION_MINUTES, consoleUrl })
  const recipient = { accountId, accountName: account!.name, userId, email, name }
  const event = buildLinkEvent(recipient, 'invitation', link, sealer)
  // Leaves the publication to the check of the outbox, because the caller may run inside a transaction that
  // has not committed when the caller's own work ends.
  parkEvents(tx, [event])
  releaseEvents(tx, [event.eventId])
}

const lockUser = statement<Recipient & { role: string | null; removedAt: string | null }>(
  'lock-user-to-sign-in',
)`
  SELECT u.account_id AS "accountId", a.name AS "accountName", u.id AS "userId", u.email, u.name, u.role,
    u.removed_at AS "removedAt"
  FROM users u JOIN accounts a ON a.id = u.account_id
  WHERE u.account_id = $1 AND u.id = $2
  FOR NO KEY UPDATE OF u`

export const NEEDS_ROLE = 'The user has no role and cannot sign in. Give the user a role first.'

/** Locks a user who may sign in. Throws `not_found`, or `invalid` if the user may not sign in. */
const lockMember = async (tx: OpenTransaction, accountId: number, userId: number): Promise<Recipient> => {
  const [user] = await lockUser(tx, accountId, userId)
  if (!user) throw new ServiceError('not_found', 'There is no such user.')
  if (user.removedAt !== null)
    throw ServiceError.invalid({ id: ['The user was removed and cannot sign in.'] })
  if (user.role === null) throw ServiceError.invalid({ id: [NEEDS_ROLE] })
  return user
}

/** Creates a link for an operator, who passes it on to the user. Throws the errors of `lockMember`. */
export const createSignInLink: Operation<'createSignInLink'> = (
  { database, actor },
  { accountId, userId, consoleUrl, minutes = LINK_MINUTES },
) =>
  database.transaction(async (tx) => {
    await lockMember(tx, accountId, userId)
    const { url } = await createLink(tx, { accountId, userId, minutes, consoleUrl })
    recordAudit(tx, actor, { accountId, action: 'user.sign_in_link_created', targetId: userId })
    return { url }
  })

/** Finds the users with an e-mail address who may sign in, in all accounts. */
export const findUsers = statement<{ accountId: number; accountName: string; userId: number }>(
  'find-users-to-sign-in',
)`
  SELECT u.account_id AS "accountId", a.name AS "accountName", u.id AS "userId"
  FROM users u JOIN accounts a ON a.id = u.account_id
  WHERE lower(u.email) = lower($1) AND u.removed_at IS NULL AND u.role IS NOT NULL AND a.suspended_at IS NULL
  ORDER BY u.account_id, u.id LIMIT ${ACCOUNTS_PER_REQUEST}`

const countLinks = statement<{ count: number }>('count-sign-in-links')`
  SELECT count(*)::int AS count FROM tokens
  WHERE account_id = $1 AND user_id = $2 AND browser_hash IS NOT NULL
    AND created_at > clock_timestamp() - interval '1 hour'`

/**
 * Sends a sign-in link to each user with an e-mail address who may sign in. A user who has requested five
 * links within an hour gets no further link. The response is always the same, so that it does not reveal who
 * may sign in.
 */
export const sendSignInLinks: Operation<'sendSignInLinks'> = async (
  deps,
  { email, browserHash, consoleUrl },
) => {
  const { database, sealer } = deps
  const users = await findUsers(database, emailForm(email))
  for (const { accountId, userId } of users)
    await recordingTransaction(deps, async (tx) => {
      const [user] = await lockUser(tx, accountId, userId)
      // The user may have been removed since `findUsers`.
      if (!user || user.role === null || user.removedAt !== null) return
      const [links] = await countLinks(tx, accountId, userId)
      if (links!.count >= LINKS_PER_HOUR) return
      const asked = { accountId, userId, minutes: LINK_MINUTES, consoleUrl, browserHash }
      const link = await createLink(tx, asked)
      tx.record(buildLinkEvent(user, 'sign_in', link, sealer))
    })
  return {}
}
