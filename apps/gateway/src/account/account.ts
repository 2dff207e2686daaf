import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { recordOf } from '../api/record'
import { dataOf, described, namedPartial, timestamp } from '../api/schemas'
import { nullable, text } from '../validation/fields'

const accountFields = {
  contact_email: nullable(
    text(
      'Who is notified when a webhook endpoint has only failed for 24 hours. Null, or empty, clears it.',
      'it@example.com',
      { format: 'email' },
    ),
  ),
}

const AccountRecord = described('Account', 'The account that the token belongs to.', {
  name: Type.String({ examples: ['Clear Windows'] }),
  api_key: Type.String({
    description: 'What `X-SERVICE-Account-Key` of webhooks carries.',
    examples: ['6f1c2d3e4a5b4c6d8e7f901a2b3c4d5e'],
  }),
  ...accountFields,
  created_at: timestamp('When the account was made.'),
})

const accountRecord = recordOf(AccountRecord)

export const retrieveAccount = operation({
  route: 'GET /manage/account',
  summary: 'Retrieve the account',
  answer: dataOf(AccountRecord, 'The account.'),
  handler: async ({ accountId, clients, limits }) => {
    const { account } = await clients.accounts.retrieveAccount({ accountId }, limits)
    return accountRecord(account!)
  },
})

export const updateAccount = operation({
  route: 'PATCH /manage/account',
  summary: 'Update the account',
  description: 'Changes what is given and leaves the rest.',
  body: namedPartial('UpdateAccountRequest', accountFields),
  answer: dataOf(AccountRecord, 'The account as it is now.'),
  handler: async ({ accountId, clients, limits, valid }) => {
    const { contact_email: given } = await valid()
    const contactEmail = given === null ? '' : given
    const { account } = await clients.accounts.updateAccount({ accountId, contactEmail }, limits)
    return accountRecord(account!)
  },
})
