import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { isAbortError } from 'abort-controller-x'
import type { Logger } from './logger'

/** Rejects when `signal` aborts. The pause is fixed: a database or a broker comes back by itself. */
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

/** How a round ended: true where the next one should start at once, 'pause' where more is left for later, false where nothing was to do. */
export type Round = boolean | 'pause'

/** Sleeps until it is woken or a time has passed; a call that comes while nothing sleeps is not lost. */
export const createAlarm = () => {
  let woken = false
  let ring = (): void => undefined
  return {
    // Called twice for each attempt: an AbortController makes an exception for each call (seen: a tenth of the processor time).
    wake: (): void => {
      woken = true
      ring()
    },
    sleep: async (ms: number): Promise<boolean> => {
      if (!woken)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(ms, 60_000))
          ring = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      const was = woken
      woken = false
      return was
    },
  }
}

export const createLoops = (logger: Logger) => {
  const stopping = new AbortController()
  const signal: AbortSignal = stopping.signal
  // A service has more than ten loops, and calls that end with them.
  setMaxListeners(0, signal)
  const running: Promise<void>[] = []
  const alarms: ReturnType<typeof createAlarm>[] = []
  return {
    /** Aborted when the loops are stopped: for what a round waits for and need not. */
    signal,
    /**
     * Repeats `work`, after `pauseMs` while there is any, and twice as long after each round without, up to `idleMs` (10 s). Call the
     * function that comes back after committing work for this loop: it starts a round at once, but no sooner than `pauseMs` after
     * the last. Polling finds what a crash left.
     */
    run: (
      name: string,
      pauses: number | { pauseMs: number; idleMs?: number },
      work: () => Promise<Round>,
    ): (() => void) => {
      const { pauseMs, idleMs = 10_000 } =
        typeof pauses === 'number' ? { pauseMs: pauses, idleMs: pauses } : pauses
      const alarm = createAlarm()
      const loop = async () => {
        let lengthMs = pauseMs
        while (!signal.aborted) {
          const round = await work().catch((error: unknown) => {
            if (!signal.aborted || !isAbortError(error))
              logger.warn({ err: error, loop: name }, 'a round failed')
            return 'pause' as const
          })
          if (round !== false) lengthMs = pauseMs
          if (round === true) continue
          await pause(pauseMs, undefined, { signal }).catch(() => undefined)
          const woken = await alarm.sleep(signal.aborted ? 0 : lengthMs - pauseMs)
          lengthMs = woken ? pauseMs : Math.min(lengthMs * 2, idleMs)
        }
      }
      alarms.push(alarm)
      running.push(loop())
      return alarm.wake
    },
    /** Resolves when the rounds in flight are over. */
    stop: async (): Promise<void> => {
      stopping.abort()
      for (const { wake } of alarms) wake()
      await Promise.all(running)
    },
  }
}

export type Loops = ReturnType<typeof createLoops>
