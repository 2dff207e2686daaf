import { Type } from '@sinclair/typebox'
import { recordOf } from '../api/record'
import { nullableTimestamp, timestamp } from '../api/schemas'
import { text } from '../validation/fields'

export const userFields = {
  email: text('Once per account.', 'sales@example.com', { format: 'email' }),
  name: text(undefined, 'Grace Hopper'),
}

export const UserRecord = Type.Object(
  {
    id: Type.Integer({ examples: [1] }),
    email: Type.String({ examples: ['sales@example.com'] }),
    name: Type.String({ examples: ['Grace Hopper'] }),
    created_at: timestamp('When the user was made.'),
    removed_at: nullableTimestamp('Null until the user is removed.'),
  },
  { title: 'User', description: 'Someone leads are assigned to.' },
)

export const userRecord = recordOf(UserRecord)
