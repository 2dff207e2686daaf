import { setTimeout as wait } from 'node:timers/promises'

/**
 * Runs `check` again and again until it throws nothing; answers with what it answers. In a spec, put the expectation
 * inside: `await eventually(() => expect(receiver.requests).toHaveLength(1))`.
 * The limit is far beyond what a loaded machine needs: it only ends what would never come.
 * @throws the last error of `check` once `timeoutMs` have passed, with what was waited for
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  {
    timeoutMs = 60_000,
    everyMs = 20,
    describe,
  }: { timeoutMs?: number; everyMs?: number; describe?: string } = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > deadline) {
        if (error instanceof Error)
          error.message = `after ${timeoutMs} ms${describe ? ` of ${describe}` : ''}: ${error.message}`
        throw error
      }
      await wait(everyMs)
    }
  }
}
