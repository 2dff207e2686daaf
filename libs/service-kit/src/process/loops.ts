import { setTimeout as pause } from 'node:timers/promises'
import { isAbortError } from 'abort-controller-x'
import type { Logger } from './logger'

/** How a round ended: true where the next one should start at once, 'pause' where more is left for later, false where nothing was to do. */
export type Round = boolean | 'pause'

/** How long a loop pauses: `pauseMs` while there is work, twice as long after each round without any, up to `idleMs`. */
type Pauses = { pauseMs: number; idleMs: number }

/** Work that a service does again and again beside its calls. */
export interface Loops {
  /** Aborted when the loops are stopped: for what a round waits for and need not. */
  readonly signal: AbortSignal
  /**
   * Repeats `work`. A failure is logged, and tried again after the pause. Call the function that comes back after committing work
   * for this loop: it starts a round at once, but no sooner than `pauseMs` after the last. Polling finds what a crash left.
   */
  run(name: string, pauses: number | Pauses, work: () => Promise<Round>): () => void
  /** Begins no more rounds. Resolves when those in flight are over. */
  stop(): Promise<void>
}

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
    /** Resolves with whether it was woken. */
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

export const createLoops = (logger: Logger): Loops => {
  const stopping = new AbortController()
  const { signal } = stopping
  const running: Promise<void>[] = []

  const loop = async (
    name: string,
    { pauseMs, idleMs }: Pauses,
    work: () => Promise<Round>,
    alarm: Alarm,
  ) => {
    let lengthMs = pauseMs
    while (!signal.aborted) {
      const round = await work().catch((error: unknown) => {
        if (!signal.aborted || !isAbortError(error)) logger.warn({ err: error, loop: name }, 'a round failed')
        return 'pause' as const
      })
      if (round !== false) lengthMs = pauseMs
      if (round === true) continue
      await pause(pauseMs, undefined, { signal }).catch(() => undefined)
      const woken = await alarm.sleep(signal.aborted ? 0 : lengthMs - pauseMs)
      lengthMs = woken ? pauseMs : Math.min(lengthMs * 2, idleMs)
    }
  }

  const alarms: Alarm[] = []
  return {
    signal,
    run: (name, pauses, work) => {
      const alarm = createAlarm()
      alarms.push(alarm)
      const { pauseMs, idleMs } = typeof pauses === 'number' ? { pauseMs: pauses, idleMs: pauses } : pauses
      running.push(loop(name, { pauseMs, idleMs }, work, alarm))
      return alarm.wake
    },
    stop: async () => {
      stopping.abort()
      for (const { wake } of alarms) wake()
      await Promise.all(running)
    },
  }
}
