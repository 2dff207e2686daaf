import { setTimeout as pause } from 'node:timers/promises'

const PATIENCE_MS = 500
const PAUSE_MS = 20

/** Until when, by `performance.now()`, a call that begins now looks for a server that takes it: a rolling restart needs it. */
export const patienceEnds = (): number => performance.now() + PATIENCE_MS

/** Calls `attempt` until it succeeds, until `until` is past or `signal` is aborted; throws its last error then. */
export const patiently = async <T>(
  attempt: () => Promise<T>,
  { until, signal }: { until: number; signal?: AbortSignal },
): Promise<T> => {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (signal?.aborted || performance.now() > until) throw error
    }
    await pause(PAUSE_MS)
  }
}
