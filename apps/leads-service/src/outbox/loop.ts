import type { Lifecycle, Logger } from '@leadwire/service-kit'

export interface Loop {
  /** Has the work done without waiting for the pause to end. */
  wake(): void
}

/**
 * Does `work` again and again: at once while it says there is more, else after a pause or when woken. A failure is
 * logged and tried again after the pause. A drain waits for the round that is under way.
 */
export const startLoop = (options: {
  name: string
  pauseMs: number
  work: () => Promise<boolean>
  logger: Logger
  lifecycle: Lifecycle
}): Loop => {
  const { name, pauseMs, work, logger, lifecycle } = options
  let woken = false
  let interrupt = () => {}
  const rest = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs)
      interrupt = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const run = async () => {
    while (!lifecycle.draining) {
      woken = false
      const more = await work().catch((error: unknown) => {
        logger.warn({ err: error, loop: name }, 'a round failed')
        return false
      })
      if (!more && !woken && !lifecycle.draining) await rest()
    }
  }
  const running = run()
  lifecycle.signal.addEventListener('abort', () => interrupt())
  lifecycle.onStop(name, () => {
    interrupt()
    return running
  })
  return {
    wake: () => {
      woken = true
      interrupt()
    },
  }
}
