import { setTimeout as wait } from 'node:timers/promises'
import type { Child } from './child'

export type Clock = {
  /** Returns milliseconds from any origin. */
  now(): number
  /** Resolves after the time, or at once if the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export type Supervised = {
  name: string
  /** Returns the running process. Undefined between two starts. */
  child(): Child | undefined
  /**
   * Returns the number of failures in a row. The process has failed if it could not be started, or exited
   * without a signal. A run of at least `healthyAfterMs` restarts the count.
   */
  failuresInARow(): number
  /** Returns the last lines of the process's output, or the reason why it could not be started. */
  lastLines(): string[]
  /** Kills the process and starts it again at once. Resolves when the killed process has ended. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export type SuperviseOptions = {
  name: string
  start: () => Promise<Child>
  onUp?: (child: Child) => void
  /** Called with the reason why the process ended, and the pause until the next start. */
  onDown?: (why: string, pauseMs: number) => void
  /**
   * The run time after which a process counts as healthy. When a healthy process ends, it is restarted
   * without a pause.
   */
  healthyAfterMs?: number
  clock?: Clock
}

/** The pauses before the first, second, third … restart in a row, in milliseconds. */
const pauses = [0, 100, 200, 500, 1000, 2000, 5000]

/** Keeps a process running until `stop` is called. */
export function supervise({
  name,
  start,
  onUp,
  onDown,
  healthyAfterMs = 10_000,
  clock = systemClock,
}: SuperviseOptions): Supervised {
  const stopping = new AbortController()
  let restarting = new AbortController()
  let child: Child | undefined
  let restarts = 0
  let failures = 0
  let lastLines: string[] = []

  const runOnce = async (): Promise<{ why: string; isFailure: boolean }> => {
    try {
      child = await start()
    } catch (error) {
      lastLines = [error instanceof Error ? error.message : String(error)]
      return { why: `could not be started: ${lastLines[0]}`, isFailure: true }
    }
    onUp?.(child)
    if (stopping.signal.aborted) await child.stop()
    const { code, signal } = await child.exited
    lastLines = child.lastLines()
    child = undefined
    return {
      why: signal ? `was ended by ${signal}` : `exited with code ${code}`,
      isFailure: signal === null,
    }
  }

  const resetCounts = () => {
    restarts = 0
    failures = 0
  }

  const keepRunning = async () => {
    while (!stopping.signal.aborted) {
      const startedAt = clock.now()
      restarting = new AbortController()
      const { why, isFailure } = await runOnce()
      if (stopping.signal.aborted) return
      if (clock.now() - startedAt >= healthyAfterMs) resetCounts()
      failures = isFailure ? failures + 1 : 0
      const pauseMs = pauses[Math.min(restarts, pauses.length - 1)]!
      restarts += 1
      onDown?.(why, pauseMs)
      await clock.wait(pauseMs, AbortSignal.any([stopping.signal, restarting.signal]))
    }
  }

  const ended = keepRunning()
  return {
    name,
    child: () => child,
    failuresInARow: () => failures,
    lastLines: () => child?.lastLines() ?? lastLines,
    restart: async () => {
      resetCounts()
      restarting.abort()
      child?.killGroup()
      await child?.exited
    },
    stop: async () => {
      stopping.abort()
      await child?.stop()
      await ended
    },
  }
}

const systemClock: Clock = {
  now: () => performance.now(),
  wait: (ms, signal) => wait(ms, undefined, { signal }).catch(() => {}),
}
