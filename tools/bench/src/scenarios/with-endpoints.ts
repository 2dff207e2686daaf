import { type FilledAccount, fillEndpoints } from '@leadwire/fill'
import type { Context } from '../context'
import { buildDelete, sendRequest } from './requests'

/**
 * Runs `work` while each account has one more endpoint. By default the endpoint has the URL of the receiver.
 * Deletes the endpoints afterwards, which cancels their pending deliveries.
 */
export const withEndpoints = async <T>(
  { stack, webhooks, receiver }: Context,
  accounts: FilledAccount[],
  work: (endpointIds: number[]) => Promise<T>,
  chooseUrl: (index: number) => string = () => receiver.url,
): Promise<T> => {
  const { encryptionKeys } = stack
  const endpoints: { account: FilledAccount; id: number }[] = []
  for (const [index, account] of accounts.entries()) {
    const endpoint = { accountId: account.id, count: 1, url: chooseUrl(index), encryptionKeys }
    const { ids } = await fillEndpoints(webhooks, endpoint)
    endpoints.push({ account, id: ids[0]! })
  }
  try {
    return await work(endpoints.map(({ id }) => id))
  } finally {
    for (const { account, id } of endpoints)
      await sendRequest(stack.port, buildDelete(account, `/manage/webhook-endpoints/${id}`))
  }
}
