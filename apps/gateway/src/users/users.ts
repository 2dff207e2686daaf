import { CreateUser, UpdateUser } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { recordListOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import { described, nullableTimestamp, recordResponse, timestamp } from '../api/schemas'

export const UserRecord = described('User', 'A user to whom leads can be assigned.', {
  id: Type.Integer({ examples: [1] }),
  email: Type.String({ examples: ['sales@example.com'] }),
  name: Type.String({ examples: ['Grace Hopper'] }),
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

export const createUser = operation({
  route: 'POST /manage/users',
  summary: 'Create a user',
  body: CreateUser,
  savesResponse: true,
  answer: recordResponse(UserRecord, 'The new user.'),
  handler: async ({ accountId, clients, limits, valid }) => {
    const fields = await valid()
    const { user } = await clients.accounts.createUser({ accountId, ...fields }, limits)
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
    'Updates the fields in the request. Omitted fields keep their values. A removed user cannot be changed (422).',
  body: UpdateUser,
  answer: recordResponse(UserRecord, 'The updated user.'),
  handler: async ({ pathId, accountId, clients, limits, valid }) => {
    const key = { accountId, userId: pathId() }
    const value = await valid(() => clients.accounts.retrieveUser(key, limits))
    const { user } = await clients.accounts.updateUser({ ...key, ...value }, limits)
    return renderUser(user!)
  },
})

export const removeUser = operation({
  route: 'DELETE /manage/users/:id',
  summary: 'Remove a user',
  description:
    'Removes a user. A removed user can no longer be assigned and gets no more notifications. A new user can have the same email address. Leads, appointments and callbacks keep the ID of the removed user. The user can still be retrieved by this ID.',
  answer: recordResponse(UserRecord, 'The removed user.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const { user } = await clients.accounts.removeUser({ accountId, userId: pathId() }, limits)
    return renderUser(user!)
  },
})
