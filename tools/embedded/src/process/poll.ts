import { setTimeout as wait } from 'node:timers/promises'

/**
 * Asks `condition` again and again until it says true.
 * @throws when `timeoutMs` have passed; the message has `what` and the last error of `condition`, if it threw.
 */
export async function poll(
  condition: () => Promise<boolean> | boolean,
  { what, timeoutMs, everyMs = 25 }: { what: string; timeoutMs: number; everyMs?: number },
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  let lastError: unknown
  for (;;) {
    try {
      if (await condition()) return
    } catch (error) {
      lastError = error
    }
    if (performance.now() > deadline) {
      const why = lastError instanceof Error ? `: ${lastError.message}` : ''
      throw new Error(`waited ${timeoutMs} ms for ${what}${why}`)
    }
    await wait(everyMs)
  }
}
