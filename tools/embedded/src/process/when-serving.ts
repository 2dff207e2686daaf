import { poll } from './poll'
import type { Supervised } from './supervise'

/** How often in a row a program may end by itself before its start counts as failed. */
const FAILURES_AT_MOST = 3

/**
 * Waits until something supervised serves for the first time.
 * @throws with its last lines when it keeps ending by itself (an invalid setting, say) or `timeoutMs` have passed
 */
export async function whenServing(
  supervised: Supervised,
  probe: () => Promise<boolean>,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
): Promise<void> {
  const withLastLines = (what: string) => new Error([what, ...supervised.lastLines().slice(-5)].join('\n  '))
  let givenUp = false
  await poll(
    async () => {
      givenUp = supervised.failuresInARow() >= FAILURES_AT_MOST
      return givenUp || signal?.aborted || (await probe())
    },
    { what: `${supervised.name} to be ready`, timeoutMs },
  ).catch((error: Error) => {
    throw withLastLines(error.message)
  })
  if (givenUp) throw withLastLines(`${supervised.name} does not start:`)
}

/** Whether a service answers that it is able to serve. */
export async function isReady(healthUrl: string): Promise<boolean> {
  const answer = await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(3000) })
  await answer.body?.cancel()
  return answer.status === 200
}
