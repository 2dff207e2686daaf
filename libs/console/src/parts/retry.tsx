import { useState } from 'preact/hooks'
import { type Attempt, outcomeOf } from '../deliveries'
import { waitFor } from './live'

interface Retry {
  /** Asks for one more attempt. */
  send: () => Promise<unknown>
  load: () => Promise<{ attempts: Attempt[] }>
  refresh: () => Promise<void>
}

/** One more attempt of a delivery or a notification that has had `made` attempts, and how it ended, in words. */
export const useRetry = ({ send, load, refresh }: Retry) => {
  const [outcome, setOutcome] = useState<string>()
  const retry = async (made: number) => {
    setOutcome(undefined)
    await send()
    setOutcome('Retrying…')
    const { attempts } = await waitFor(load, (now) => now.attempts.length > made)
    const last = attempts.length > made ? attempts.at(-1) : undefined
    setOutcome(last ? `Attempt ${last.number}: ${outcomeOf(last)}.` : 'The attempt is still in flight.')
    await refresh()
  }
  return { retry, outcome }
}
