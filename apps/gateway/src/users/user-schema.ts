import { Type } from '@sinclair/typebox'
import { recordOf } from '../api/record'
import { named, nullableTimestamp, timestamp } from '../api/schemas'
import { text } from '../validation/fields'

export const userFields = {
  email: text('Once per account.', 'sales@example.com', { format: 'email' }),
  name: text(undefined, 'Grace Hopper'),
}

export const UserRecord = named(
  'User',
  'Someone leads are assigned to.',
)({
  id: Type.Integer({ examples: [1] }),
  email: Type.String({ examples: ['sales@example.com'] }),
  name: Type.String({ examples: ['Grace Hopper'] }),
  created_at: timestamp('When the user was made.'),
  removed_at: nullableTimestamp('Null until the user is removed.'),
})

export const userRecord = recordOf(UserRecord)
