import { emailForm, isEmail, User } from '@leadwire/contracts'
import { type FieldErrors, ServiceError, violatedConstraint } from '@leadwire/service-kit'
import { errorsOf, isId, isText, nameErrors, refuse, validate } from '../arguments'
import { managedRecords, throwFailure } from '../database/managed-records'
import type { Operation } from '../operation'
import { newSecret } from '../tokens/tokens'

const USERS = managedRecords(User, 'users', 'user')

const emailErrors = (email: string): FieldErrors =>
  isEmail(email) && isText(email) ? {} : { email: ['The email must be a valid email address.'] }

const throwTaken = (error: unknown): never => {
  if (violatedConstraint(error) === 'users_email_once_per_account')
    throw ServiceError.invalid({ email: ['The email has already been taken.'] })
  return throwFailure(error)
}

export const listUsers: Operation<'listUsers'> = async ({ database }, { accountId }) => {
  validate({ account_id: isId(accountId) })
  return { users: await USERS.list(database, 'account_id = $1 AND removed_at IS NULL', [accountId]) }
}

/** One user, also one that was removed. */
export const retrieveUser: Operation<'retrieveUser'> = async ({ database }, request) => ({
  user: await USERS.retrieve(database, request),
})

/** An e-mail exists once per account, whatever its case or the spelling of its domain; that of a removed user is free. */
export const createUser: Operation<'createUser'> = async ({ database, actor }, request) => {
  const { accountId, email, name } = request
  refuse({ ...errorsOf({ account_id: isId(accountId) }), ...nameErrors(name), ...emailErrors(email) })
  const row = { account_id: accountId, email: emailForm(email), name }
  const user = await database
    .transaction((tx) => USERS.insert(tx, actor, row, ['email', 'name']))
    .catch(throwTaken)
  return { user }
}

const requirePresent = ({ removedAt }: User): void => {
  if (removedAt) throw ServiceError.invalid({ id: ['The user was removed and can not be changed.'] })
}

export const updateUser: Operation<'updateUser'> = async (deps, request) => {
  const { email, name } = request
  refuse({
    ...(name !== undefined && nameErrors(name)),
    ...(email !== undefined && emailErrors(email)),
  })
  const user = await USERS.change(deps, request, {
    action: 'user.updated',
    logged: ['email', 'name'],
    set: 'email = coalesce($3, email), name = coalesce($4, name)',
    values: [email === undefined ? null : emailForm(email), name ?? null],
    check: requirePresent,
  }).catch(throwTaken)
  return { user }
}

/** Removes a user for good. What was assigned to it keeps its id. An assignment in flight and the removal don't wait for each other. */
export const removeUser: Operation<'removeUser'> = USERS.changing({
  action: 'user.removed',
  logged: ['removedAt'],
  set: 'removed_at = coalesce(removed_at, clock_timestamp()), calendar_hash = NULL, calendar_created_at = NULL',
})

/** Makes the secret of a user's calendar. Only this response has it: what is stored is its hash. The one before stops working. */
export const createUserCalendar: Operation<'createUserCalendar'> = async (deps, request) => {
  const { secret, hash } = newSecret('cal')
  const user = await USERS.change(deps, request, {
    action: 'user.calendar_created',
    logged: ['calendarCreatedAt'],
    set: 'calendar_hash = $3, calendar_created_at = clock_timestamp()',
    values: [hash],
    check: requirePresent,
  })
  return { user, secret }
}

export const revokeUserCalendar: Operation<'revokeUserCalendar'> = USERS.changing({
  action: 'user.calendar_revoked',
  logged: ['calendarCreatedAt'],
  set: 'calendar_hash = NULL, calendar_created_at = NULL',
})
