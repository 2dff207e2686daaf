import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { isAbortError } from 'abort-controller-x'
import { limitRepeats } from './limit-repeats'
import type { Logger } from './logger'

/**
 * Repeats `attempt` until it succeeds. Rejects when `signal` aborts. The pause does not grow, because a
 * database or a broker comes back without help.
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

/**
 * How a round ended: true if the next round should start at once, 'pause' if it should start after the
 * shortest pause, false if there was nothing to do.
 */
export type Round = boolean | 'pause'

/**
 * Makes an alarm. `sleep` waits until `wake` is called or the time has passed, and resolves with whether it
 * was woken. A call of `wake` while nothing sleeps ends the next sleep at once.
 */
export const createAlarm = () => {
  let woken = false
  let ring = (): void => undefined
  return {
    // A plain callback, because `wake` is called twice for each attempt of a delivery. An AbortController
    // creates an exception for each call, which took a tenth of the processor time.
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

type Alarm = ReturnType<typeof createAlarm>

/** Repeats `runRound` until `signal` aborts. The method `run` of `createLoops` documents the pauses. */
const repeatRounds = async (
  runRound: () => Promise<Round>,
  { pauseMs, idleMs }: { pauseMs: number; idleMs: number },
  { alarm, signal }: { alarm: Alarm; signal: AbortSignal },
): Promise<void> => {
  let lengthMs = pauseMs
  while (!signal.aborted) {
    const round = await runRound()
    if (round !== false) lengthMs = pauseMs
    if (round === true) continue
    await pause(pauseMs, undefined, { signal }).catch(() => undefined)
    const woken = await alarm.sleep(signal.aborted ? 0 : lengthMs - pauseMs)
    lengthMs = woken ? pauseMs : Math.min(lengthMs * 2, idleMs)
  }
}

export const createLoops = (logger: Logger) => {
  const failures = limitRepeats(logger)
  const stopping = new AbortController()
  const signal: AbortSignal = stopping.signal
  // No limit, because each loop adds a listener, and so does each call that ends with the loops.
  setMaxListeners(0, signal)
  const running: Promise<void>[] = []
  const alarms: Alarm[] = []
  return {
    /** Aborts when the loops are stopped. Pass it to waits that a round can abandon. */
    signal,
    /**
     * Repeats `work` until the loops are stopped. After a round that returns true, the next round starts at
     * once. After a round that returns 'pause' or fails, it starts after `pauseMs`. After rounds without
     * work the pause doubles each time, up to `idleMs` (10 s by default). A number sets a constant pause.
     * Polling finds work that a crash left behind.
     *
     * Returns the function to call after new work for the loop was committed. It starts a round at once,
     * but not within `pauseMs` of the previous round.
     */
    run: (
      name: string,
      pauses: number | { pauseMs: number; idleMs?: number },
      work: () => Promise<Round>,
    ): (() => void) => {
      const { pauseMs, idleMs = 10_000 } =
        typeof pauses === 'number' ? { pauseMs: pauses, idleMs: pauses } : pauses
      const alarm = createAlarm()
      const runRound = (): Promise<Round> =>
        work().catch((error: unknown) => {
          if (!signal.aborted || !isAbortError(error))
            failures.warn({ err: error, loop: name }, 'a round failed')
          return 'pause'
        })
      alarms.push(alarm)
      running.push(repeatRounds(runRound, { pauseMs, idleMs }, { alarm, signal }))
      return alarm.wake
    },
    /** Stops the loops. Resolves when the rounds in flight have ended. */
    stop: async (): Promise<void> => {
      stopping.abort()
      for (const { wake } of alarms) wake()
      await Promise.all(running)
    },
  }
}

export type Loops = ReturnType<typeof createLoops>
