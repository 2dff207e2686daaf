import type { Database } from '@leadwire/service-kit'
import { findDueEndpoints } from './find-due-endpoints'

/** Since when (milliseconds since 1970) the longest due attempt has waited; undefined when none is due. */
export const findOldestDue = async (database: Database, now: Date): Promise<number | undefined> => {
  const due = await database.transaction(async (tx) => {
    // As in a worker's session: the index gives the order, whatever the planner believes.
    tx.send({
      name: 'order-by-index',
      text: `SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)`,
    })
    return findDueEndpoints(tx, now)
  })
  return due.length === 0 ? undefined : due.reduce((oldest, { dueAt }) => Math.min(oldest, dueAt), Infinity)
}
