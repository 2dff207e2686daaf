import type { WorkerSession } from './worker-session'

/**
 * Which endpoints have a delivery that is due by `until` and that nobody has claimed, each with its earliest.
 *
 * One probe of the index for each endpoint that waits for anything (a loose index scan, which PostgreSQL before 18
 * does not make by itself), however many deliveries wait behind the first.
 */
export const findDueEndpoints = async (
  session: WorkerSession,
  until: Date,
): Promise<{ endpointId: number; dueAt: number }[]> => {
  const rows = await session.query<{ endpoint_id: number; next_attempt_at: string }>({
    name: 'find-due-endpoints',
    text: `
      WITH RECURSIVE first AS (
        (SELECT endpoint_id, next_attempt_at FROM deliveries
         WHERE status = 'pending' AND claimed_by IS NULL
         ORDER BY endpoint_id, next_attempt_at LIMIT 1)
        UNION ALL
        SELECT following.* FROM first CROSS JOIN LATERAL (
          SELECT d.endpoint_id, d.next_attempt_at FROM deliveries d
          WHERE d.status = 'pending' AND d.claimed_by IS NULL AND d.endpoint_id > first.endpoint_id
          ORDER BY d.endpoint_id, d.next_attempt_at LIMIT 1
        ) following
      )
      SELECT endpoint_id, next_attempt_at FROM first WHERE next_attempt_at <= $1`,
    values: [until.toISOString()],
  })
  return rows.map((row) => ({ endpointId: row.endpoint_id, dueAt: Date.parse(row.next_attempt_at) }))
}
