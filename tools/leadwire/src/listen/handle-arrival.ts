import { type Arrival, describe, verifyArrival } from './arrival'
import { forward } from './forward'

export interface HandlerOptions {
  secret: string
  forwardTo: URL | undefined
  print(text: string): void
}

/**
 * Verifies and prints a webhook, and forwards it to `forwardTo` if this URL is given. Resolves to false if
 * the webhook could not be forwarded or the response was not 2xx. Otherwise resolves to true.
 */
export const handleArrival = async (
  arrival: Arrival,
  { secret, forwardTo, print }: HandlerOptions,
): Promise<boolean> => {
  const forwarded = forwardTo && (await forwardAndDescribe(arrival, forwardTo))
  print(`\n${describe(arrival, verifyArrival(arrival, secret), forwarded?.outcome)}`)
  return forwarded?.isAccepted ?? true
}

const forwardAndDescribe = async (
  arrival: Arrival,
  url: URL,
): Promise<{ isAccepted: boolean; outcome: string }> => {
  const started = performance.now()
  const ms = () => `${Math.round(performance.now() - started)} ms`
  try {
    const status = await forward(arrival, url)
    const isAccepted = status >= 200 && status <= 299
    return { isAccepted, outcome: `forwarded to ${url.href}: ${status} in ${ms()}` }
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    return {
      isAccepted: false,
      outcome: `could not be forwarded to ${url.href}: ${message || code} after ${ms()}`,
    }
  }
}
