import { Customer, LeadListItem, ManagedFields, Quote } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { described, named, nullableScalar, orNull } from '../api/schemas'

const AssignedUser = named('AssignedUser', {
  id: Type.Integer({ examples: [1] }),
  name: Type.String({ description: 'The present name of the user.', examples: ['Grace Hopper'] }),
  email: nullableScalar('string', 'Email address. null if the user was removed.', 'grace@example.com'),
})

export const assignedUser = orNull(AssignedUser, 'The assigned user. null if the lead is unassigned.')

export const ManagedLead = described(
  'ManagedLead',
  'A lead with its customer, quotes, assigned user and management fields.',
  {
    ...LeadListItem.properties,
    ...ManagedFields.properties,
    user: assignedUser,
    customer: Customer,
    quotes: Type.Array(Quote),
  },
)
