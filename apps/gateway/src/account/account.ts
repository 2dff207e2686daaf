import { integer, nullable, text } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import { described, namedPartial, recordResponse, timestamp } from '../api/schemas'
import { SUBJECTS, type Subject } from '../scheduling/schedule'

/** A week. */
const MAX_LEAD_MINUTES = 10_080

const leadTime = (subject: Subject, example: number) =>
  integer(
    `How many minutes before its date ${SUBJECTS[subject]} is due. The event \`${subject}.due\` is then sent. A change applies only to ${subject}s that are scheduled, moved or opened again afterwards.`,
    example,
    { minimum: 0, maximum: MAX_LEAD_MINUTES },
  )

const accountFields = {
  contact_email: nullable(
    text(
      'Email address that is notified when all attempts to a webhook endpoint have failed for 24 hours. null or an empty string clears the field.',
      'it@example.com',
      { format: 'email' },
    ),
  ),
  appointment_due_minutes: leadTime('appointment', 60),
  callback_due_minutes: leadTime('callback', 0),
}

const AccountRecord = described('Account', 'The account that the token belongs to.', {
  name: Type.String({ examples: ['Clear Windows'] }),
  api_key: Type.String({
    description: 'The value of `X-SERVICE-Account-Key` in webhooks.',
    examples: ['6f1c2d3e4a5b4c6d8e7f901a2b3c4d5e'],
  }),
  ...accountFields,
  created_at: timestamp('When the account was created.'),
})

const renderAccount = createRecordRenderer(AccountRecord)

export const retrieveAccount = operation({
  route: 'GET /manage/account',
  summary: 'Retrieve the account',
  answer: recordResponse(AccountRecord, 'The account.'),
  handler: async ({ accountId, clients, limits }) => {
    const { account } = await clients.accounts.retrieveAccount({ accountId }, limits)
    return renderAccount(account!)
  },
})

export const updateAccount = operation({
  route: 'PATCH /manage/account',
  summary: 'Update the account',
  description: 'Updates the fields in the request. Omitted fields keep their values.',
  body: namedPartial('UpdateAccountRequest', accountFields),
  answer: recordResponse(AccountRecord, 'The updated account.'),
  handler: async ({ accountId, clients, limits, valid }) => {
    const given = await valid()
    const { appointment_due_minutes: appointmentDueMinutes, callback_due_minutes: callbackDueMinutes } = given
    const contactEmail = given.contact_email === null ? '' : given.contact_email
    const asked = { accountId, contactEmail, appointmentDueMinutes, callbackDueMinutes }
    const { account } = await clients.accounts.updateAccount(asked, limits)
    return renderAccount(account!)
  },
})
