import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from './logger'

/** Work that a service does again and again beside its calls. */
export const createLoops = (logger: Logger) => {
  const stopping = new AbortController()
  const running: Promise<void>[] = []

  const loop = async (name: string, pauseMs: number, work: () => Promise<boolean>) => {
    while (!stopping.signal.aborted) {
      const more = await work().catch((error: unknown) => {
        logger.warn({ err: error, loop: name }, 'a round failed')
        return false
      })
      if (!more) await pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  return {
    /**
     * Does `work` again at once while it says that there is more, else after a pause. A failure is logged, and tried again after
     * the pause.
     */
    run: (name: string, pauseMs: number, work: () => Promise<boolean>): void =>
      void running.push(loop(name, pauseMs, work)),
    /** Begins no more rounds. Resolves when those under way are over. */
    stop: async (): Promise<void> => {
      stopping.abort()
      await Promise.all(running)
    },
  }
}
