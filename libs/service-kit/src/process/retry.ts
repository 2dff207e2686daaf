import { setTimeout as pause } from 'node:timers/promises'

/**
 * Calls `attempt` until it succeeds, and `onFailure` after each failure. Rejects when `signal` aborts. The pause is fixed: a
 * database or a broker comes back by itself.
 */
export const untilSuccess = async <T>(
  attempt: () => Promise<T>,
  options: { signal: AbortSignal; pauseMs: number; onFailure: (error: unknown) => void },
): Promise<T> => {
  for (;;) {
    options.signal.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      options.onFailure(error)
    }
    await pause(options.pauseMs, undefined, { signal: options.signal })
  }
}
