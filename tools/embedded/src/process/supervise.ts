import { setTimeout as wait } from 'node:timers/promises'
import type { Child } from './child'

export type Clock = {
  /** Milliseconds, from any origin. */
  now(): number
  /** Resolves after that time, or at once when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export type Supervised = {
  name: string
  /** The process that runs now; undefined between two. */
  child(): Child | undefined
  /** How often in a row it ended by itself, with an exit code, before it had lived for `healthyAfterMs`. */
  failuresInARow(): number
  /** What it wrote last, or why it could not be started. */
  lastLines(): string[]
  /** Kills the process, and starts it again at once; answers when the killed one is gone. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export type SuperviseOptions = {
  name: string
  start: () => Promise<Child>
  onUp?: (child: Child) => void
  /** Told why it went, and how long it will be until the next start. */
  onDown?: (why: string, pauseMs: number) => void
  /** One that lived so long is well: when it dies, it is started again at once. */
  healthyAfterMs?: number
  clock?: Clock
}

/** The pauses before the second, third … start in a row; the first is made at once. */
const pauses = [0, 100, 200, 500, 1000, 2000, 5000]

/** Keeps a process running until told to stop. */
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
  let deaths = 0
  let failures = 0
  let lastLines: string[] = []

  const runOnce = async (): Promise<{ why: string; byItself: boolean }> => {
    try {
      child = await start()
    } catch (error) {
      lastLines = [error instanceof Error ? error.message : String(error)]
      return { why: `could not be started: ${lastLines[0]}`, byItself: true }
    }
    onUp?.(child)
    if (stopping.signal.aborted) await child.stop()
    const { code, signal } = await child.exited
    lastLines = child.lastLines()
    child = undefined
    return {
      why: signal ? `was ended by ${signal}` : `ended with exit code ${code}`,
      byItself: signal === null,
    }
  }

  const keepRunning = async () => {
    while (!stopping.signal.aborted) {
      const startedAt = clock.now()
      restarting = new AbortController()
      const { why, byItself } = await runOnce()
      if (stopping.signal.aborted) return
      if (clock.now() - startedAt >= healthyAfterMs) deaths = failures = 0
      failures = byItself ? failures + 1 : 0
      const pauseMs = pauses[Math.min(deaths++, pauses.length - 1)]!
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
      deaths = failures = 0
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
