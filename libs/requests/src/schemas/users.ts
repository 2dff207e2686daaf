import { ROLES, type Role } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { partial, text } from '../validation/fields'

const userFields = {
  email: text('Email address of the user, unique in the account.', 'sales@example.com', { format: 'email' }),
  name: text(undefined, 'Grace Hopper'),
}

const role = Type.Unsafe<Role | null>({
  type: ['string', 'null'],
  enum: [...ROLES, null],
  description: 'What the user may do after signing in. null: the user may not sign in.',
  examples: ['sales'],
})

export const CreateUser = Type.Object(
  { ...userFields, role: Type.Optional(role) },
  { title: 'CreateUserRequest' },
)

export const UpdateUser = partial({ ...userFields, role }, { title: 'UpdateUserRequest' })
