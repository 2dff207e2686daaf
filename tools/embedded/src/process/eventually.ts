import { setTimeout as wait } from 'node:timers/promises'

/** What takes long is asked for less and less often: asking takes time from what is waited for. */
const nextPause = (elapsedMs: number) => Math.min(250, Math.max(20, elapsedMs / 10))

/**
 * Runs `check` again and again until it throws nothing; answers with what it answers. In a spec, put the expectation
 * inside: `await eventually(() => expect(receiver.requests).toHaveLength(1))`.
 * The limit is far beyond what a loaded machine needs: it only ends what would never come.
 * @throws the last error of `check` once `timeoutMs` have passed, with what was waited for
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeoutMs = 60_000, everyMs, describe }: { timeoutMs?: number; everyMs?: number; describe?: string } = {},
): Promise<T> {
  const began = performance.now()
  for (;;) {
    try {
      return await check()
    } catch (error) {
      const elapsedMs = performance.now() - began
      if (elapsedMs > timeoutMs) {
        if (error instanceof Error)
          error.message = `after ${timeoutMs} ms${describe ? ` of ${describe}` : ''}: ${error.message}`
        throw error
      }
      await wait(everyMs ?? nextPause(elapsedMs))
    }
  }
}
