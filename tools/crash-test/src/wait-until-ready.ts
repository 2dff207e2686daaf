import { setTimeout as pause } from 'node:timers/promises'
import { isReady, poll } from '@leadwire/embedded'

const READY_WITHIN_MS = 90_000

/**
 * Waits until all services are ready again. The error contains `after`, which describes the hazard.
 * @throws an error if a service is not ready in time
 */
export const waitUntilReady = async (
  listHealthUrls: () => Promise<string[]>,
  after: string,
): Promise<void> => {
  // Waits a moment, because a service that has just lost a dependency still reports that it is ready.
  await pause(500)
  const areAllReady = async () => {
    const urls = await listHealthUrls()
    const ready = await Promise.all(urls.map((url) => isReady(url)))
    return ready.every(Boolean)
  }
  const what = `all services to be ready after ${after}`
  await poll(areAllReady, { what, timeoutMs: READY_WITHIN_MS, everyMs: 100 })
}
