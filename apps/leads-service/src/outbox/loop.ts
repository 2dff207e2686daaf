import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '@leadwire/service-kit'

/**
 * Does `work` again and again: at once while it says there is more, else after a pause. A failure is logged and tried
 * again after the pause.
 */
export const startLoop = (options: {
  name: string
  pauseMs: number
  work: () => Promise<boolean>
  logger: Logger
}) => {
  const { name, pauseMs, work, logger } = options
  const stopping = new AbortController()
  const rest = () => pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
  const run = async () => {
    while (!stopping.signal.aborted) {
      const more = await work().catch((error: unknown) => {
        logger.warn({ err: error, loop: name }, 'a round failed')
        return false
      })
      if (!more) await rest()
    }
  }
  const running = run()
  return {
    /** Resolves when the round that is under way is over; no other begins. */
    stop: (): Promise<void> => {
      stopping.abort()
      return running
    },
  }
}
