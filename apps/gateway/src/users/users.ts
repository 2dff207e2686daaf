import type { User } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { recordOf } from '../api/record'
import { dataOf, described, listOf, named, namedPartial, nullableTimestamp, timestamp } from '../api/schemas'
import { text } from '../validation/fields'

const userFields = {
  email: text('Once per account.', 'sales@example.com', { format: 'email' }),
  name: text(undefined, 'Grace Hopper'),
}

export const UserRecord = described('User', 'Someone leads are assigned to.', {
  id: Type.Integer({ examples: [1] }),
  email: Type.String({ examples: ['sales@example.com'] }),
  name: Type.String({ examples: ['Grace Hopper'] }),
  created_at: timestamp('When the user was made.'),
  removed_at: nullableTimestamp('Null until the user is removed.'),
  calendar_created_at: nullableTimestamp(
    'When the address of the calendar was made; null when there is none.',
  ),
})

const userRecord = recordOf(UserRecord)

export const userOf = ({ user }: { user?: User | undefined }) => userRecord(user!)

export const listUsers = operation({
  route: 'GET /manage/users',
  summary: 'List users',
  answer: listOf(UserRecord, "The account's users, without those who were removed."),
  handler: async ({ accountId, clients, limits }) => {
    const { users } = await clients.accounts.listUsers({ accountId }, limits)
    return users.map(userRecord)
  },
})

export const createUser = operation({
  route: 'POST /manage/users',
  summary: 'Create a user',
  body: named('CreateUserRequest', userFields),
  savesResponse: true,
  answer: dataOf(UserRecord, 'The new user.'),
  handler: async ({ accountId, clients, limits, valid }) =>
    userOf(await clients.accounts.createUser({ accountId, ...(await valid()) }, limits)),
})

export const retrieveUser = operation({
  route: 'GET /manage/users/:id',
  summary: 'Retrieve a user',
  description: 'Also one that was removed.',
  answer: dataOf(UserRecord, 'The user.'),
  handler: async ({ pathId, accountId, clients, limits }) =>
    userOf(await clients.accounts.retrieveUser({ accountId, userId: pathId() }, limits)),
})

export const updateUser = operation({
  route: 'PATCH /manage/users/:id',
  summary: 'Update a user',
  description: 'Changes what is given and leaves the rest. A removed user can not be changed (422).',
  body: namedPartial('UpdateUserRequest', userFields),
  answer: dataOf(UserRecord, 'The user as it is now.'),
  handler: async ({ pathId, accountId, clients, limits, valid }) => {
    const key = { accountId, userId: pathId() }
    const value = await valid(() => clients.accounts.retrieveUser(key, limits).then(() => ({})))
    return userOf(await clients.accounts.updateUser({ ...key, ...value }, limits))
  },
})

export const removeUser = operation({
  route: 'DELETE /manage/users/:id',
  summary: 'Remove a user',
  description:
    'The user is assigned to nothing more and gets no more notifications, and its e-mail is free for another one. Leads, appointments and callbacks that it was assigned to keep its id, by which it can still be retrieved.',
  answer: dataOf(UserRecord, 'The removed user.'),
  handler: async ({ pathId, accountId, clients, limits }) =>
    userOf(await clients.accounts.removeUser({ accountId, userId: pathId() }, limits)),
})
