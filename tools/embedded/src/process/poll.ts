import { setTimeout as wait } from 'node:timers/promises'

/**
 * Polls `condition` until it returns true.
 * @throws after `timeoutMs`, with `what` and the last error of `condition` in the message
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
