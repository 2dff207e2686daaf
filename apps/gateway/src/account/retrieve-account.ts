import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { AccountRecord, accountRecord } from './account-schema'

export const retrieveAccount = operation({
  route: 'GET /manage/account',
  operationId: 'retrieveAccount',
  summary: 'Retrieve the account',
  answer: dataOf(AccountRecord, 'The account.'),
  handler: async ({ accountId, clients, limits }) => {
    const { account } = await clients.accounts.retrieveAccount({ accountId }, limits)
    return accountRecord(account!)
  },
})
