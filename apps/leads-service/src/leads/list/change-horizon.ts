import { statement, type Transaction } from '@leadwire/service-kit'

// A transaction reads the clock for updated_at after it has its id (from its first lock of a row). So a transaction that is seen
// here writes no earlier updated_at than its start, and one that is not yet seen reads the clock after this statement began.
// A transaction of a role whose activity this one may not see is not counted.
const selectHorizon = statement<{ horizon: string }>('change-horizon')`
  SELECT least(statement_timestamp(), min(xact_start)) AS horizon FROM pg_stat_activity
  WHERE datname = current_database() AND backend_xid IS NOT NULL`

/**
 * An instant before which no lead can change any more: whatever is committed from now on, and whatever a snapshot taken from
 * now on does not show, has this or a later updated_at. It must be read before, and outside of, the transaction that uses it.
 */
export const changeHorizon = async (db: Transaction): Promise<string> => {
  const [row] = await selectHorizon(db)
  return row!.horizon
}
