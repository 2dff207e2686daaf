import { setTimeout as pause } from 'node:timers/promises'
import { isReady, poll } from '@leadwire/embedded'

const BACK_WITHIN_MS = 90_000

/** Waits until all services are ready again after something happened, in words. Throws when they do not come back. */
export const untilReady = async (health: () => Promise<string[]>, after: string): Promise<void> => {
  // It takes a moment until a service knows that what it needs is gone.
  await pause(500)
  const allReady = async () => (await Promise.all((await health()).map(isReady))).every(Boolean)
  await poll(allReady, { what: `all to be ready after ${after}`, timeoutMs: BACK_WITHIN_MS, everyMs: 100 })
}
