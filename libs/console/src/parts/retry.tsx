import { useState } from 'preact/hooks'
import { type Attempt, describeOutcome } from '../deliveries'
import { waitFor } from './live'

interface Retry {
  /** Requests one more attempt. */
  send: () => Promise<unknown>
  load: () => Promise<{ attempts: Attempt[] }>
  refresh: () => Promise<void>
}

/**
 * Returns `retry`, which requests one more attempt of a delivery or a notification, and `outcome`, which
 * describes the progress and the result. Pass `retry` the number of attempts that were made before.
 */
export const useRetry = ({ send, load, refresh }: Retry) => {
  const [outcome, setOutcome] = useState<string>()
  const retry = async (made: number) => {
    setOutcome(undefined)
    await send()
    setOutcome('Retrying…')
    const { attempts } = await waitFor(load, (now) => now.attempts.length > made)
    const last = attempts.length > made ? attempts.at(-1) : undefined
    setOutcome(last ? `Attempt ${last.number}: ${describeOutcome(last)}.` : 'The attempt is still in flight.')
    await refresh()
  }
  return { retry, outcome }
}
