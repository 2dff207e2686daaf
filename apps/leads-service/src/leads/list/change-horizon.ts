import type { Transaction } from '@leadwire/service-kit'

// updated_at of a lead is a clock that its transaction reads after it has its id (in the id's first lock of a row). So what a
// transaction writes that is seen here has no earlier updated_at than the transaction's start, and what is not yet seen here
// reads the clock later than this statement began. A transaction of a role whose activity this one may not see is not counted.
const SELECT_HORIZON = `
  SELECT least(statement_timestamp(), min(xact_start)) AS horizon FROM pg_stat_activity
  WHERE datname = current_database() AND backend_xid IS NOT NULL`

/**
 * An instant before which no lead can change any more: whatever is committed from now on, and whatever a snapshot taken from
 * now on does not show, has this or a later updated_at. It must be read before, and outside of, the transaction that uses it.
 */
export const changeHorizon = async (db: Transaction): Promise<string> => {
  const [row] = await db.query<{ horizon: string }>({ name: 'change-horizon', text: SELECT_HORIZON })
  return row!.horizon
}
