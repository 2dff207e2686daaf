import { setTimeout as pause } from 'node:timers/promises'

/**
 * Calls `attempt` until it succeeds; `onFailure` hears of each failure. Rejects when `signal` aborts.
 * The pause between attempts is fixed: what is waited for (a database, a broker) comes back by itself.
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
