import { WORKER_LOCKS, type WorkerSession } from './worker-session'

/**
 * Takes back the claims of workers that are gone (nobody holds their lock), and those of this worker that it does not
 * know of, because the answer to its claim was lost. Their attempts count as not made. `alsoOfOthers` is false while
 * others may merely not have come back yet. Answers with how many it took.
 */
export const takeBackClaims = async (
  session: WorkerSession,
  { workerId, known, alsoOfOthers }: { workerId: number; known: number[]; alsoOfOthers: boolean },
): Promise<number> => {
  const rows = await session.query({
    name: 'take-back-claims',
    text: `
      UPDATE deliveries SET claimed_by = NULL
      WHERE claimed_by IS NOT NULL AND CASE
        WHEN claimed_by = $1 THEN id <> ALL ($2::bigint[])
        ELSE $3 AND claimed_by NOT IN (
          SELECT objid::bigint FROM pg_locks
          WHERE locktype = 'advisory' AND classid = $4 AND objsubid = 2 AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        )
      END
      RETURNING id`,
    values: [workerId, known, alsoOfOthers, WORKER_LOCKS],
  })
  return rows.length
}
