import type { User } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
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

/** A user's public record. */
export const userRecord = (user: User) => ({
  id: user.id,
  email: user.email,
  name: user.name,
  created_at: user.createdAt,
  removed_at: user.removedAt ?? null,
})
