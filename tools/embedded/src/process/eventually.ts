import { setTimeout as wait } from 'node:timers/promises'

/**
 * Returns the pause before the next check. The pause grows with the elapsed time, because each check takes
 * processor time from the program under test.
 */
const choosePause = (elapsedMs: number) => Math.min(250, Math.max(20, elapsedMs / 10))

/** Adds to the message of an error how long `eventually` waited. Returns the error. */
const describeTimeout = (error: unknown, timeoutMs: number, description?: string) => {
  const waited = description ? `${timeoutMs} ms of ${description}` : `${timeoutMs} ms`
  if (error instanceof Error) error.message = `after ${waited}: ${error.message}`
  return error
}

/**
 * Repeats `check` until it does not throw, and returns its result. In a spec, put the expectation inside:
 * `await eventually(() => expect(receiver.requests).toHaveLength(1))`.
 * The default timeout is far longer than even a busy machine needs.
 * @throws the last error of `check` after `timeoutMs`, with `describe` in its message
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
      if (elapsedMs > timeoutMs) throw describeTimeout(error, timeoutMs, describe)
      await wait(everyMs ?? choosePause(elapsedMs))
    }
  }
}
