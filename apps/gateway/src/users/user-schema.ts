import type { User } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { timestamp } from '../docs/shared-schemas'

export const UserRecord = Type.Object(
  {
    id: Type.Integer({ examples: [1] }),
    email: Type.String({ examples: ['sales@example.com'] }),
    name: Type.String({ examples: ['Grace Hopper'] }),
    created_at: timestamp('When the user was made.'),
  },
  { title: 'User', description: 'Someone leads are assigned to.' },
)

/** A user's public record. */
export const userRecord = (user: User) => ({
  id: user.id,
  email: user.email,
  name: user.name,
  created_at: user.createdAt,
})
