import { User } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'
import { managedRecords } from '../database/managed-records'
import type { Dependencies } from '../operation'
import { requireRoom } from '../quotas/require-room'

export const USERS = managedRecords(User, 'users', 'user', ['email', 'name'])

/**
 * Inserts a user and records the user in the audit log. Throws `invalid` if the account has too many users.
 * `email` must be in the form of `emailForm`.
 */
export const insertUser = async (
  tx: OpenTransaction,
  { actor, quotas }: Pick<Dependencies, 'actor' | 'quotas'>,
  user: { accountId: number; email: string; name: string; role: string | undefined },
): Promise<User> => {
  const { accountId, email, name, role } = user
  await requireRoom(tx, accountId, 'users', quotas)
  return USERS.insert(tx, actor, { account_id: accountId, email, name, role }, ['email', 'name', 'role'])
}
