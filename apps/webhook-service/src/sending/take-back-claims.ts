import { WORKER_LOCKS, type WorkerSession } from './worker-session'

/**
 * Takes back the claims of these workers that nobody here knows of: they are gone, or the answer to the claim was lost.
 * Their attempts count as not made. Answers with how many it took.
 *
 * Only what is open or asked for by hand is attempted again. One that was cancelled meanwhile keeps its claim: nothing
 * will ever ask for it.
 */
export const takeBackUnknown = async (
  session: WorkerSession,
  workerIds: number[],
  known: number[] = [],
): Promise<number> => {
  const rows = await session.query({
    name: 'take-back-claims',
    text: `
      WITH lost AS (
        SELECT id FROM deliveries
        WHERE next_attempt_at IS NOT NULL AND claimed_by = ANY ($1::int[]) AND id <> ALL ($2::bigint[])
        UNION
        SELECT id FROM deliveries
        WHERE by_hand_at IS NOT NULL AND claimed_by = ANY ($1) AND id <> ALL ($2)
      ), locked AS (
        SELECT id FROM deliveries WHERE id = ANY (ARRAY (SELECT id FROM lost)) ORDER BY id FOR UPDATE
      )
      UPDATE deliveries d SET
        claimed_by = NULL,
        by_hand_at = CASE WHEN p.deleted_at IS NULL THEN d.by_hand_at END
      FROM endpoints p
      WHERE d.id = ANY (ARRAY (SELECT id FROM locked)) AND d.claimed_by = ANY ($1) AND p.id = d.endpoint_id
      RETURNING d.id`,
    values: [workerIds, known],
  })
  return rows.length
}

/** Takes back claims whose attempts could not be made, for no fault of their receivers. */
export const takeBackUnmade = async (
  session: WorkerSession,
  claims: { id: number; claimedBy: number; claim: number }[],
): Promise<void> =>
  void (await session.query({
    name: 'take-back-unmade',
    text: `UPDATE deliveries d SET claimed_by = NULL
           FROM unnest($1::bigint[], $2::int[], $3::int[]) AS unmade (id, claimed_by, claim)
           WHERE d.id = unmade.id AND d.claimed_by = unmade.claimed_by AND d.claim = unmade.claim`,
    values: [
      claims.map(({ id }) => id),
      claims.map(({ claimedBy }) => claimedBy),
      claims.map(({ claim }) => claim),
    ],
  }))

/**
 * Takes back the claims of workers that are gone: nobody holds their lock. Whoever gets it keeps it until that is done,
 * so none comes back meanwhile, and whatever the worker did before is seen. Those of this process, `ours`, take care
 * of themselves. Answers with how many it took.
 */
export const takeBackFromTheGone = async (session: WorkerSession, ours: number[]): Promise<number> => {
  const gone = await session.query<{ id: number }>({
    name: 'find-gone-workers',
    text: 'SELECT id FROM workers WHERE id <> ALL ($1::int[]) AND pg_try_advisory_lock($2, id)',
    values: [ours, WORKER_LOCKS],
  })
  if (gone.length === 0) return 0
  const ids = gone.map(({ id }) => id)
  const taken = await takeBackUnknown(session, ids)
  await session.query({
    text: `WITH forgotten AS (DELETE FROM workers WHERE id = ANY ($1))
           SELECT pg_advisory_unlock($2, id) FROM unnest($1::int[]) AS gone (id)`,
    values: [ids, WORKER_LOCKS],
  })
  return taken
}
