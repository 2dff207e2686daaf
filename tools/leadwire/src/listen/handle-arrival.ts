import { type Arrival, describe, verifyArrival } from './arrival'
import { forward } from './forward'

export interface HandlerOptions {
  secret: string
  forwardTo: URL | undefined
  print(text: string): void
}

/** Verifies and prints a webhook, and passes it on to `forwardTo`. Resolves with whether that took it. */
export const handleArrival = async (
  arrival: Arrival,
  { secret, forwardTo, print }: HandlerOptions,
): Promise<boolean> => {
  const { isTaken, outcome } = forwardTo
    ? await passOn(arrival, forwardTo)
    : { isTaken: true, outcome: undefined }
  print(`\n${describe(arrival, verifyArrival(arrival, secret), outcome)}`)
  return isTaken
}

const passOn = async (arrival: Arrival, url: URL): Promise<{ isTaken: boolean; outcome: string }> => {
  const started = performance.now()
  const ms = () => `${Math.round(performance.now() - started)} ms`
  try {
    const status = await forward(arrival, url)
    const isTaken = status >= 200 && status <= 299
    return { isTaken, outcome: `forwarded to ${url.href}, answered ${status} in ${ms()}` }
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    return {
      isTaken: false,
      outcome: `could not be forwarded to ${url.href}: ${message || code} after ${ms()}`,
    }
  }
}
