import { managementOperation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { AccountRecord, accountRecord } from './account-schema'

/** GET /manage/account. */
export const retrieveAccount = managementOperation({
  method: 'GET',
  url: '/manage/account',
  operationId: 'retrieveAccount',
  tag: 'Management',
  summary: 'Retrieve the account',
  answer: { description: 'The account.', schema: dataOf(AccountRecord) },
  run: async ({ accountId, clients, limits }) => {
    const { account } = await clients.accounts.retrieveAccount({ accountId }, limits)
    return accountRecord(account!)
  },
})
