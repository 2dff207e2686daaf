import type { Database, HeldConnection } from '@leadwire/service-kit'

/** Any constant: it tells workers' locks from others in the same database. */
export const WORKER_LOCKS = 1_280_791_891

/**
 * A connection of its own that holds a worker's advisory lock: while it lives, the others leave the worker's claims
 * alone. Claims are made over this very connection, so none is made after the lock was lost.
 */
export interface WorkerSession extends Pick<HeldConnection, 'query' | 'lost'> {
  workerId: number
  close(): Promise<void>
}

// A claim that a crash of the database takes back costs a repetition of the same attempt, as any crash does; it
// need not wait for the disk. Every statement here has its index, which gives the order too: a planner without
// statistics must neither scan nor sort. Measured with 900 endpoints that wait: 300 ms for a look that sorts, else 4.
// When this machine vanishes without a word, PostgreSQL sees it within five seconds.
const SETTINGS = {
  synchronous_commit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_sort: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
  tcp_keepalives_idle: '2',
  tcp_keepalives_interval: '1',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '5000',
}

// A plan outlives the settings it was made under, and this connection may have had another owner.
const FORGET_PLANS = { text: 'DISCARD PLANS' }

/** Rejects while the database is away, or while it has not yet noticed that the worker's last session is gone. */
export const openWorkerSession = async (database: Database, workerId: number): Promise<WorkerSession> => {
  const connection = await database.hold()
  const close = async () => {
    try {
      await connection.query({ text: 'SELECT pg_advisory_unlock_all()' })
      await connection.query({ text: 'RESET ALL' })
      await connection.query(FORGET_PLANS)
      await connection.release()
    } catch {
      // Most likely it is gone, and the lock with it. If not, nobody else may have the lock and the settings.
      await connection.discard()
    }
  }
  try {
    await connection.query({
      text: 'SELECT set_config(name, setting, false) FROM jsonb_each_text($1) AS wanted (name, setting)',
      values: [SETTINGS],
    })
    await connection.query(FORGET_PLANS)
    const [lock] = await connection.query<{ held: boolean }>({
      text: 'SELECT pg_try_advisory_lock($1, $2) AS held',
      values: [WORKER_LOCKS, workerId],
    })
    if (!lock?.held) throw new Error(`the lock of worker ${workerId} is still held by its last session`)
    await connection.query({
      text: 'INSERT INTO workers VALUES ($1) ON CONFLICT DO NOTHING',
      values: [workerId],
    })
  } catch (error) {
    await close()
    throw error
  }
  return { workerId, query: connection.query, lost: connection.lost, close }
}
