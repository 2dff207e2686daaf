import type { Account } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { timestamp } from '../api/schemas'
import { nullable, text } from '../validation/fields'

export const accountFields = {
  contact_email: nullable(
    text(
      'Who is told when a webhook endpoint has only failed for 24 hours. Null, or empty, clears it.',
      'it@example.com',
      { format: 'email' },
    ),
  ),
}

export const AccountRecord = Type.Object(
  {
    name: Type.String({ examples: ['Clear Windows'] }),
    ...accountFields,
    created_at: timestamp('When the account was made.'),
  },
  { title: 'Account', description: 'The account that the token belongs to.' },
)

/** An account's public record. */
export const accountRecord = (account: Account) => ({
  name: account.name,
  contact_email: account.contactEmail ?? null,
  created_at: account.createdAt,
})
