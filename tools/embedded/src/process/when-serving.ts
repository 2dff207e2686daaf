import { poll } from './poll'
import type { Supervised } from './supervise'

/** The number of failures in a row after which a start counts as failed. */
const MAX_FAILURES = 3

/**
 * Waits until a supervised process serves requests for the first time.
 * @throws an error with the process's last lines, if the process keeps exiting (because of an invalid
 * setting, for example) or does not serve within `timeoutMs`
 */
export async function whenServing(
  supervised: Supervised,
  probe: () => Promise<boolean>,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
): Promise<void> {
  const withLastLines = (what: string) => new Error([what, ...supervised.lastLines().slice(-5)].join('\n  '))
  let hasFailed = false
  await poll(
    async () => {
      hasFailed = supervised.failuresInARow() >= MAX_FAILURES
      return hasFailed || signal?.aborted || (await probe())
    },
    { what: `${supervised.name} to be ready`, timeoutMs },
  ).catch((error: Error) => {
    throw withLastLines(error.message)
  })
  if (hasFailed) throw withLastLines(`${supervised.name} does not start:`)
}

/** Returns whether a service is ready. The check `except` may fail. */
export async function isReady(healthUrl: string, except?: string): Promise<boolean> {
  const response = await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(3000) })
  if (response.ok) {
    await response.body?.cancel()
    return true
  }
  const { missing } = (await response.json()) as { missing?: string[] }
  return missing?.length === 1 && missing[0] === except
}
