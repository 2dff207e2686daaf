import { statement, type Transaction } from '@leadwire/service-kit'

// A transaction that changes a lead first locks the row, which gives the transaction its id (backend_xid),
// and then reads the clock for updated_at. If this statement sees the id, updated_at is not before the start
// of the transaction (xact_start). If this statement does not see the id yet, the transaction reads the clock
// after this statement began. In both cases, updated_at is not before the horizon. Exception: if this role
// may not see the activity of another role, this statement never sees the ids of that role's transactions.
// Their updated_at may then be before the horizon.
const selectHorizon = statement<{ horizon: string }>('change-horizon')`
  SELECT least(statement_timestamp(), min(xact_start)) AS horizon FROM pg_stat_activity
  WHERE datname = current_database() AND backend_xid IS NOT NULL`

/**
 * Returns the change horizon. Every change that commits after this call has an `updated_at` at or after the
 * horizon. The same holds for every change that a snapshot taken after this call does not contain. A list of
 * changes that ends before the horizon is therefore complete. Must be called before, and outside of, the
 * transaction that reads the list.
 */
export const changeHorizon = async (db: Transaction): Promise<string> => {
  const [row] = await selectHorizon(db)
  return row!.horizon
}
