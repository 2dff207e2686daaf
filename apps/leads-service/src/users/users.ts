import { emailForm, type User } from '@leadwire/contracts'
import {
  type OpenTransaction,
  recordAudit,
  ServiceError,
  statement,
  violatedConstraint,
  within,
} from '@leadwire/service-kit'
import { throwFailure } from '../database/managed-records'
import type { Operation } from '../operation'
import { lockQuotas } from '../quotas/require-room'
import { revokeLinks, revokeSessions } from '../sign-in/sessions'
import { NEEDS_ROLE, recordInvitation } from '../sign-in/sign-in-links'
import { WITHOUT_CALENDAR } from '../tokens/end-calendars'
import { lockCreator } from '../tokens/lock-creator'
import { newSecret } from '../tokens/tokens'
import { insertUser, USERS } from './insert-user'
import { deleteViews } from './views'

const throwTaken = (error: unknown): never => {
  if (violatedConstraint(error) === 'users_email_once_per_account')
    throw ServiceError.invalid({ email: ['The email has already been taken.'] })
  return throwFailure(error)
}

export const listUsers: Operation<'listUsers'> = async ({ database }, request) => {
  const { records, nextAfter } = await USERS.listPage(database, 'removed_at IS NULL', request)
  return { users: records, nextAfter }
}

/** Retrieves a user, even if the user was removed. */
export const retrieveUser: Operation<'retrieveUser'> = async ({ database }, request) => ({
  user: await USERS.retrieve(database, request),
})

const findNames = statement<{ id: number; name: string }>('find-user-names')`
  SELECT id, name FROM users WHERE account_id = $1 AND id = ANY ($2::bigint[])`

/** Finds the names of users, including removed users. */
export const findUserNames: Operation<'findUserNames'> = async ({ database }, { accountId, userIds }) => {
  const found = await findNames(database, accountId, userIds)
  return { names: Object.fromEntries(found.map(({ id, name }) => [id, name])) }
}

/**
 * Creates a user. E-mail addresses are unique within an account, whatever the letter case or the spelling of
 * the domain. The e-mail address of a removed user can be used again. A user with a role gets an invitation.
 */
export const createUser: Operation<'createUser'> = async (dependencies, request) => {
  const { database, sealer } = dependencies
  const { accountId, email, name, role, consoleUrl } = request
  const given = { accountId, email: emailForm(email), name, role }
  const user = await database
    .transaction(async (tx) => {
      const created = await insertUser(tx, dependencies, given)
      if (role !== undefined && consoleUrl !== undefined)
        await recordInvitation(tx, sealer, { accountId, user: created, consoleUrl })
      return created
    })
    .catch(throwTaken)
  return { user }
}

const requirePresent = ({ removedAt }: User): void => {
  if (removedAt) throw ServiceError.invalid({ id: ['The user was removed and cannot be changed.'] })
}

const findOtherAdmin = statement('find-other-admin')`
  SELECT FROM users WHERE account_id = $1 AND id <> $2 AND removed_at IS NULL AND role = 'admin' LIMIT 1`

/** Throws `invalid` if the user is the only admin of the account. */
const requireOtherAdmin = async (
  tx: OpenTransaction,
  accountId: number,
  { id, role }: User,
  field: 'id' | 'role',
): Promise<void> => {
  if (role !== 'admin') return
  if ((await findOtherAdmin(tx, accountId, id)).length > 0) return
  throw ServiceError.invalid({
    [field]: ['The user is the only admin of the account. Make another user an admin first.'],
  })
}

/**
 * Updates a user. A change of the role ends the user's sessions, and a change of the e-mail address
 * invalidates the links that were sent to the former address. A user who gets a first role also gets an
 * invitation. The only admin keeps the role.
 */
export const updateUser: Operation<'updateUser'> = async ({ database, actor, sealer }, request) => {
  const { accountId, email, name, role: given, consoleUrl } = request
  const role = given === '' ? null : given
  const user = await database
    .transaction(async (tx) => {
      // Serialises changes of roles, so that two admins cannot remove each other's role at the same time.
      lockQuotas.send(tx, accountId)
      const before = await USERS.lock(tx, request)
      requirePresent(before)
      if (role !== undefined && role !== 'admin') await requireOtherAdmin(tx, accountId, before, 'role')
      const after = await USERS.change({ database: within(tx), actor }, request, {
        action: 'user.updated',
        logged: ['email', 'name', 'role'],
        set: 'email = coalesce($3, email), name = coalesce($4, name), role = CASE WHEN $5 THEN $6 ELSE role END',
        values: [
          email === undefined ? null : emailForm(email),
          name ?? null,
          role !== undefined,
          role ?? null,
        ],
      })
      // The links were sent to the former address.
      if (before.email !== after.email) revokeLinks(tx, accountId, after.id)
      if (before.role === after.role) return after
      await revokeSessions(tx, { accountId, userId: after.id })
      if (before.role === undefined && consoleUrl !== undefined)
        await recordInvitation(tx, sealer, { accountId, user: after, consoleUrl })
      return after
    })
    .catch(throwTaken)
  return { user }
}

/** Sends an invitation to a user who may sign in. */
export const inviteUser: Operation<'inviteUser'> = ({ database, actor, sealer }, request) =>
  database.transaction(async (tx) => {
    const { accountId, userId, consoleUrl } = request
    const user = await USERS.lock(tx, request)
    requirePresent(user)
    if (user.role === undefined) throw ServiceError.invalid({ id: [NEEDS_ROLE] })
    await recordInvitation(tx, sealer, { accountId, user, consoleUrl })
    recordAudit(tx, actor, { accountId, action: 'user.invited', targetId: userId })
    return { user }
  })

/**
 * Removes a user permanently, ends the user's sessions, and deletes the user's saved views. Records that
 * are assigned to the user keep the user's id. The removal and an assignment in flight do not wait for each
 * other, so the assignment may still succeed after the removal. The only admin cannot be removed. With
 * `erase`, also replaces the name and the e-mail address, which appear nowhere else: history and audit log
 * refer to users by id.
 */
export const removeUser: Operation<'removeUser'> = ({ database, actor }, request) =>
  database.transaction(async (tx) => {
    const { accountId, userId, erase } = request
    lockQuotas.send(tx, accountId)
    const before = await USERS.lock(tx, request)
    if (!before.removedAt) await requireOtherAdmin(tx, accountId, before, 'id')
    const user = await USERS.change({ database: within(tx), actor }, request, {
      action: 'user.removed',
      logged: ['removedAt'],
      set: `removed_at = coalesce(removed_at, clock_timestamp()), ${WITHOUT_CALENDAR},
        name = CASE WHEN $3 THEN 'A removed user' ELSE name END,
        email = CASE WHEN $3 THEN 'user-' || id || '@removed.invalid' ELSE email END`,
      values: [erase],
    })
    deleteViews(tx, { accountId, userId })
    await revokeSessions(tx, { accountId, userId })
    return { user }
  })

/**
 * Creates the secret of a user's calendar, which replaces the former secret. Only this response has the
 * secret, because only its hash is stored. The calendar expires when the token that created it expires. If
 * the token never expires, or is a session, the calendar stays valid even after the token is revoked without
 * `cascade`. This adds no risk: creating a calendar needs the scope `manage`, and the holder of such a token
 * could manage users permanently anyway.
 */
export const createUserCalendar: Operation<'createUserCalendar'> = ({ database, actor }, request) =>
  database.transaction(async (tx) => {
    const { secret, hash } = newSecret('cal')
    const creator = await lockCreator(tx, actor, request.accountId)
    const user = await USERS.change({ database: within(tx), actor }, request, {
      action: 'user.calendar_created',
      logged: ['calendarCreatedAt', 'calendarExpiresAt'],
      set: `calendar_hash = $3, calendar_created_at = clock_timestamp(), calendar_token_id = $4,
        calendar_expires_at = $5`,
      values: [hash, creator?.id ?? null, creator?.expiresAt ?? null],
      check: requirePresent,
    })
    return { user, secret }
  })

export const revokeUserCalendar: Operation<'revokeUserCalendar'> = USERS.changing({
  action: 'user.calendar_revoked',
  logged: ['calendarCreatedAt'],
  set: WITHOUT_CALENDAR,
})
