import type { Call } from './operation'

/** The names of users by their ids. */
export type UserNames = Record<number, string>

/** Finds the present names of users. Ignores ids that are undefined, and makes no call if none is left. */
export const findUserNames = async (
  { accountId, clients, limits }: Pick<Call<unknown>, 'accountId' | 'clients' | 'limits'>,
  ids: (number | undefined)[],
): Promise<UserNames> => {
  const userIds = [...new Set(ids)].filter((id) => id !== undefined)
  if (userIds.length === 0) return {}
  return (await clients.accounts.findUserNames({ accountId, userIds }, limits)).names
}
