import { grants, ROLE_SCOPES, ROLES, type Role } from '@leadwire/contracts'
import { CreateUser, describe, partial, UpdateUser } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { recordListOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import { described, nullableTimestamp, recordResponse, timestamp } from '../api/schemas'
import type { Principal } from '../auth/authenticate'

export const UserRecord = described('User', 'A user to whom leads can be assigned.', {
  id: Type.Integer({ examples: [1] }),
  email: Type.String({ examples: ['sales@example.com'] }),
  name: Type.String({ examples: ['Grace Hopper'] }),
  role: Type.Unsafe<Role | null>({
    type: ['string', 'null'],
    enum: [...ROLES, null],
    description: 'What the user may do after signing in. null if the user may not sign in.',
    examples: ['sales'],
  }),
  created_at: timestamp('When the user was created.'),
  removed_at: nullableTimestamp('When the user was removed. null until then.'),
  calendar_created_at: nullableTimestamp(
    'When the calendar URL was created. null if the user has no calendar URL.',
  ),
  calendar_expires_at: nullableTimestamp(
    'When the calendar URL expires, together with the token that created it. null if the URL does not expire.',
  ),
})

export const renderUser = createRecordRenderer(UserRecord)

export const listUsers = recordListOperation({
  route: 'GET /manage/users',
  scope: 'users:read',
  summary: 'List users',
  description: 'Returns the users of the account, without removed users.',
  record: UserRecord,
  find: async ({ clients, limits }, asked) => {
    const { users, nextAfter } = await clients.accounts.listUsers(asked, limits)
    return { records: users.map(renderUser), nextAfter }
  },
})

/**
 * Lists the reasons why a token may not give a role. Without this check, the holder of a test token, of a
 * token for a day, or of a token without some scope could give a role to themselves, and sign in without
 * this restriction.
 */
const listRoleErrors = (role: Role, { scopes, test, userId, expiresAtMs }: Principal): string[] => {
  if (test) return ['A test token cannot give a role.']
  if (userId === undefined && expiresAtMs !== undefined)
    return ['A token that expires cannot give a role. Use another token, or sign in as an admin.']
  const lacking = ROLE_SCOPES[role].filter((scope) => !grants(scopes, [scope]))
  if (lacking.length === 0) return []
  return [`The role ${role} cannot be given, because this token lacks the scopes ${lacking.join(', ')}.`]
}

/** Throws `invalid` if the token of the request may not give the role. */
const requireRoleAllowed = (role: Role, principal: Principal): void => {
  const errors = listRoleErrors(role, principal)
  if (errors.length > 0) throw ServiceError.invalid({ role: errors })
}

export const createUser = operation({
  route: 'POST /manage/users',
  summary: 'Create a user',
  description:
    'Creates a user. A user with a role gets an email with an invitation: a link to sign in, which works once, within 7 days. A role cannot exceed the token that gives it: no wider scopes, no test token, and no token that expires.',
  body: CreateUser,
  savesResponse: true,
  answer: recordResponse(UserRecord, 'The new user.'),
  handler: async ({ accountId, clients, limits, valid, request: { principal }, dependencies }) => {
    const { role, ...fields } = await valid()
    if (role) requireRoleAllowed(role, principal)
    const consoleUrl = `${dependencies.configuredAddress}/console`
    const asked = { accountId, ...fields, role: role ?? undefined, consoleUrl }
    const { user } = await clients.accounts.createUser(asked, limits)
    return renderUser(user!)
  },
})

export const retrieveUser = operation({
  route: 'GET /manage/users/:id',
  scope: 'users:read',
  summary: 'Retrieve a user',
  description: 'Returns a user, even if the user was removed.',
  answer: recordResponse(UserRecord, 'The user.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const { user } = await clients.accounts.retrieveUser({ accountId, userId: pathId() }, limits)
    return renderUser(user!)
  },
})

export const updateUser = operation({
  route: 'PATCH /manage/users/:id',
  summary: 'Update a user',
  description:
    'Updates the fields in the request. Omitted fields keep their values. A removed user cannot be changed (422). A change of the role ends the sessions of the user; null takes the role away. A user who gets a first role also gets an invitation by email. Only a token that could give the role can change the role or the email address of a user with a role. The only admin of the account keeps the role (422).',
  body: UpdateUser,
  answer: recordResponse(UserRecord, 'The updated user.'),
  handler: async ({ pathId, accountId, clients, limits, valid, request: { principal }, dependencies }) => {
    const key = { accountId, userId: pathId() }
    const find = () => clients.accounts.retrieveUser(key, limits)
    const { role, ...fields } = await valid(find)
    const before = (await find()).user!
    const roleAfter = role === undefined ? before.role : role
    const isSame = roleAfter === before.role && (fields.email ?? before.email) === before.email
    // The user's e-mail address receives the sign-in links. A change of the address is therefore like giving
    // the role to another person.
    if (roleAfter && !isSame) requireRoleAllowed(roleAfter as Role, principal)
    const consoleUrl = `${dependencies.configuredAddress}/console`
    const asked = { ...key, ...fields, role: role === null ? '' : role, consoleUrl }
    const { user } = await clients.accounts.updateUser(asked, limits)
    return renderUser(user!)
  },
})

const RemovalQuery = partial({
  erase: Type.Boolean(
    describe('Whether to also erase the name and the email address of the user. Default false.', true),
  ),
})

export const removeUser = operation({
  route: 'DELETE /manage/users/:id',
  summary: 'Remove a user',
  description:
    'Removes a user and ends the sessions of the user. The only admin of the account cannot be removed (422). A removed user can no longer be assigned and gets no more notifications. A new user can have the same email address. Leads, appointments and callbacks keep the ID of the removed user. The user can still be retrieved by this ID. With `erase`, the name and the email address are replaced everywhere.',
  query: RemovalQuery,
  answer: recordResponse(UserRecord, 'The removed user.'),
  handler: async ({ pathId, accountId, clients, limits, valid }) => {
    const userId = pathId()
    const { erase = false } = await valid()
    const { user } = await clients.accounts.removeUser({ accountId, userId, erase }, limits)
    return renderUser(user!)
  },
})

export const inviteUser = operation({
  route: 'POST /manage/users/:id/invitation',
  summary: 'Invite a user',
  description:
    'Sends an email with an invitation to a user with a role: a link to sign in, which works once, within 7 days, in any browser. Earlier links keep working.',
  answer: { ...recordResponse(UserRecord, 'The user. The email is enqueued.'), status: 202 },
  handler: async ({ pathId, accountId, clients, limits, reply, dependencies }) => {
    const consoleUrl = `${dependencies.configuredAddress}/console`
    const { user } = await clients.accounts.inviteUser({ accountId, userId: pathId(), consoleUrl }, limits)
    reply.code(202)
    return renderUser(user!)
  },
})
