import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { managementOperation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { AccountRecord, accountFields, accountRecord } from './account-schema'

const UpdateAccount = Type.Partial(Type.Object(accountFields), { title: 'UpdateAccountRequest' })

/** PATCH /manage/account. */
export const updateAccount = managementOperation({
  method: 'PATCH',
  url: '/manage/account',
  operationId: 'updateAccount',
  tag: 'Management',
  summary: 'Update the account',
  description: 'Changes what is given and leaves the rest.',
  body: UpdateAccount,
  answer: { description: 'The account as it is now.', schema: dataOf(AccountRecord) },
  run: async ({ accountId, clients, limits, check }) => {
    const { value, faults } = check()
    if (faults) throw ServiceError.invalid(faults)
    const contactEmail = value.contact_email === null ? '' : value.contact_email
    const { account } = await clients.accounts.updateAccount({ accountId, contactEmail }, limits)
    return accountRecord(account!)
  },
})
