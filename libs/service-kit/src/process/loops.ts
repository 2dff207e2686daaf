import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { isAbortError } from 'abort-controller-x'
import { limitRepeats } from './limit-repeats'
import type { Logger } from './logger'

/**
 * Repeats `attempt` until it succeeds. Rejects when `signal` aborts. The pause does not grow: a database or a
 * broker comes back without help, and the next attempt should follow soon after that.
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
 * The result of a round. true: the next round should start at once. 'pause': it should start after the
 * shortest pause. false: there was nothing to do.
 */
export type Round = boolean | 'pause'

/**
 * Makes an alarm. `sleep` waits until `wake` is called or the time has passed, but for at most a minute. It
 * resolves with whether it was woken. If `wake` is called while nothing sleeps, the next sleep ends at once.
 */
export const createAlarm = () => {
  let woken = false
  let ring = (): void => undefined
  return {
    // Uses a plain callback, because `wake` is called twice for each attempt of a delivery. An
    // AbortController creates an exception for each call, which took a tenth of the processor time.
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
  // The number of listeners has no limit. Each loop adds a listener, and so does each call that is aborted
  // when the loops are stopped.
  setMaxListeners(0, signal)
  const running: Promise<void>[] = []
  const alarms: Alarm[] = []
  return {
    /** Aborts when the loops are stopped. Pass the signal to waits that a round can abandon. */
    signal,
    /**
     * Repeats `work` until the loops are stopped. After a round that returns true, the next round starts at
     * once. After a round that returns 'pause' or fails, the next round starts after `pauseMs`. After each
     * round that returns false, the pause doubles until it reaches `idleMs` (default 10 s). An `idleMs` of
     * more than about a minute counts as about a minute. If `pauses` is a number, all pauses last this number
     * of milliseconds.
     *
     * Returns the function to call after new work for the loop was committed. That function starts a round at
     * once, but not within `pauseMs` of the previous round. If a crash prevents the call, the next round
     * after a pause finds the work.
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
