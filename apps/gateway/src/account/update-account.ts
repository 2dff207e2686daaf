import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { AccountRecord, accountFields, accountRecord } from './account-schema'

const UpdateAccount = Type.Partial(Type.Object(accountFields), { title: 'UpdateAccountRequest' })

export const updateAccount = operation({
  route: 'PATCH /manage/account',
  operationId: 'updateAccount',
  summary: 'Update the account',
  description: 'Changes what is given and leaves the rest.',
  body: UpdateAccount,
  answer: dataOf(AccountRecord, 'The account as it is now.'),
  handler: async ({ accountId, clients, limits, valid }) => {
    const value = await valid()
    const contactEmail = value.contact_email === null ? '' : value.contact_email
    const { account } = await clients.accounts.updateAccount({ accountId, contactEmail }, limits)
    return accountRecord(account!)
  },
})
