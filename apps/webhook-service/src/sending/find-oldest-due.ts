import type { Transaction } from '@leadwire/service-kit'
import { findDueEndpoints } from './find-due-endpoints'

/** Since when (milliseconds since 1970) the longest due attempt has waited; undefined when none is due. */
export const findOldestDue = async (database: Transaction, now: Date): Promise<number | undefined> => {
  const due = await findDueEndpoints(database, now)
  return due.length === 0 ? undefined : due.reduce((oldest, { dueAt }) => Math.min(oldest, dueAt), Infinity)
}
