import { setTimeout as pause } from 'node:timers/promises'
import { isAbortError } from 'abort-controller-x'
import type { Logger } from './logger'

/** Work that a service does again and again beside its calls. */
export interface Loops {
  /** Aborted when the loops are stopped: for what a round waits for and need not. */
  readonly signal: AbortSignal
  /**
   * Does `work` again at once while it says that there is more, else after a pause. A failure is logged, and tried again after
   * the pause.
   */
  run(name: string, pauseMs: number, work: () => Promise<boolean>): void
  /** Begins no more rounds. Resolves when those under way are over. */
  stop(): Promise<void>
}

export const createLoops = (logger: Logger): Loops => {
  const stopping = new AbortController()
  const running: Promise<void>[] = []

  const loop = async (name: string, pauseMs: number, work: () => Promise<boolean>) => {
    while (!stopping.signal.aborted) {
      const more = await work().catch((error: unknown) => {
        if (!stopping.signal.aborted || !isAbortError(error))
          logger.warn({ err: error, loop: name }, 'a round failed')
        return false
      })
      if (!more) await pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  return {
    signal: stopping.signal,
    run: (name, pauseMs, work) => void running.push(loop(name, pauseMs, work)),
    stop: async () => {
      stopping.abort()
      await Promise.all(running)
    },
  }
}
