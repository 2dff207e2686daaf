import { Type } from '@sinclair/typebox'
import { recordOf } from '../api/record'
import { named, timestamp } from '../api/schemas'
import { nullable, text } from '../validation/fields'

export const accountFields = {
  contact_email: nullable(
    text(
      'Who is notified when a webhook endpoint has only failed for 24 hours. Null, or empty, clears it.',
      'it@example.com',
      { format: 'email' },
    ),
  ),
}

export const AccountRecord = named(
  'Account',
  'The account that the token belongs to.',
)({
  name: Type.String({ examples: ['Clear Windows'] }),
  ...accountFields,
  created_at: timestamp('When the account was made.'),
})

export const accountRecord = recordOf(AccountRecord)
