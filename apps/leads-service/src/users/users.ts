import { emailForm, User } from '@leadwire/contracts'
import { ServiceError, violatedConstraint, within } from '@leadwire/service-kit'
import { managedRecords, throwFailure } from '../database/managed-records'
import type { Operation } from '../operation'
import { requireRoom } from '../quotas/require-room'
import { WITHOUT_CALENDAR } from '../tokens/end-calendars'
import { lockCreator } from '../tokens/lock-creator'
import { newSecret } from '../tokens/tokens'

const USERS = managedRecords(User, 'users', 'user')

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

/**
 * Creates a user. E-mail addresses are unique within an account, whatever the letter case or the spelling of
 * the domain. The e-mail address of a removed user can be used again.
 */
export const createUser: Operation<'createUser'> = async (dependencies, request) => {
  const { database, actor, quotas } = dependencies
  const { accountId, email, name } = request
  const row = { account_id: accountId, email: emailForm(email), name }
  const user = await database
    .transaction(async (tx) => {
      await requireRoom(tx, accountId, 'users', quotas)
      return USERS.insert(tx, actor, row, ['email', 'name'])
    })
    .catch(throwTaken)
  return { user }
}

const requirePresent = ({ removedAt }: User): void => {
  if (removedAt) throw ServiceError.invalid({ id: ['The user was removed and cannot be changed.'] })
}

export const updateUser: Operation<'updateUser'> = async (deps, request) => {
  const { email, name } = request
  const user = await USERS.change(deps, request, {
    action: 'user.updated',
    logged: ['email', 'name'],
    set: 'email = coalesce($3, email), name = coalesce($4, name)',
    values: [email === undefined ? null : emailForm(email), name ?? null],
    check: requirePresent,
  }).catch(throwTaken)
  return { user }
}

/**
 * Removes a user permanently. Records that are assigned to the user keep the user's id. The removal and an
 * assignment in flight do not wait for each other, so the assignment may still succeed after the removal.
 */
export const removeUser: Operation<'removeUser'> = USERS.changing({
  action: 'user.removed',
  logged: ['removedAt'],
  set: `removed_at = coalesce(removed_at, clock_timestamp()), ${WITHOUT_CALENDAR}`,
})

/**
 * Creates the secret of a user's calendar, which replaces the former secret. Only this response has the
 * secret, because only its hash is stored. The calendar expires when the token that created it expires. If
 * the token never expires, the calendar stays valid even after the token is revoked without `cascade`. This
 * adds no risk: creating a calendar needs the scope `manage`, and the holder of a `manage` token that never
 * expires could manage users permanently anyway.
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
