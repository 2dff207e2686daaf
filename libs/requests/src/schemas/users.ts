import { Type } from '@sinclair/typebox'
import { partial, text } from '../validation/fields'

const userFields = {
  email: text('Email address of the user, unique in the account.', 'sales@example.com', { format: 'email' }),
  name: text(undefined, 'Grace Hopper'),
}

export const CreateUser = Type.Object(userFields, { title: 'CreateUserRequest' })

export const UpdateUser = partial(userFields, { title: 'UpdateUserRequest' })
