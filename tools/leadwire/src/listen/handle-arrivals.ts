import { type Arrival, describe, type Verification, verifyArrival } from './arrival'
import { forward } from './forward'

export interface HandlerOptions {
  secret: string
  forwardTo: URL | undefined
  print(text: string): void
}

/** What the sender is answered, where there is one. */
export interface Reply {
  status: number
  contentType?: string | undefined
  body?: Buffer | string
}

/** Ends what is passed on when `signal` says that the sender waits no longer. */
export type HandleArrival = (arrival: Arrival, signal: AbortSignal) => Promise<Reply>

/**
 * Verifies and prints each webhook, wherever it comes from. With `forwardTo` it is passed on as it is, and answered as it
 * was there (502 when it was not); otherwise 200 for what verifies, 401 for what does not.
 */
export const handleArrivals = ({ secret, forwardTo, print }: HandlerOptions): HandleArrival => {
  const seen = new Set<string>()
  return async (arrival, signal) => {
    const verification = verifyArrival(arrival, { secret, seen })
    const { outcome, ...reply } = forwardTo
      ? await passOn(arrival, forwardTo, signal)
      : { ...ownReply(verification), outcome: undefined }
    print(`\n${describe(arrival, verification, outcome)}`)
    return reply
  }
}

const ownReply = ({ verified, errors }: Verification): Reply =>
  verified ? { status: 200 } : { status: 401, body: errors.join('\n') }

const passOn = async (
  arrival: Arrival,
  url: URL,
  signal: AbortSignal,
): Promise<Reply & { outcome: string }> => {
  const started = performance.now()
  try {
    const reply = await forward(arrival, url, signal)
    const ms = Math.round(performance.now() - started)
    return { ...reply, outcome: `forwarded to ${url.href}, answered ${reply.status} in ${ms} ms` }
  } catch (error) {
    const reason = signal.aborted ? signal.reason : error
    const why =
      reason instanceof Error ? reason.message || String((reason as NodeJS.ErrnoException).code) : reason
    const outcome = `could not be forwarded to ${url.href}: ${why}; answered 502`
    return { status: 502, body: `${why}`, outcome }
  }
}
