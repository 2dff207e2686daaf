import type { AttemptError } from '@leadwire/contracts'
import type { Sealer } from '@leadwire/service-kit'
import type { Dispatcher } from 'undici'
import type { Clock } from '../clock'
import { openSecrets } from '../endpoints/secrets/sealed-secrets'
import { failureClass } from './failure-class'
import { AttemptTimeout, post } from './post'
import { traceAttempt } from './trace-attempt'
import { type Webhook, webhookHeaders } from './webhook-headers'

/** The outcome of an attempt. `error` is null on success, and `ours` when it says nothing about the receiver. */
export interface Outcome {
  startedAt: Date
  durationMs: number
  status: number | null
  error: AttemptError | 'ours' | null
  /** Whether a retry would have the same outcome. */
  permanent?: boolean
  response: string | null
  /** For the log. */
  cause?: unknown
}

interface Options {
  dispatcher: Dispatcher
  sealer: Sealer
  timeoutMs: number
  clock: Clock
}

const SPAN = { name: 'POST webhook', status: 'http.response.status_code' }

/**
 * Makes one attempt (interface: Delivery), as a span of the event's trace. A 2xx answer within the time is success, everything else
 * a failure. Never rejects.
 */
export const makeAttempt = (
  webhook: Webhook,
  { dispatcher, sealer, timeoutMs, clock }: Options,
): Promise<Outcome> =>
  traceAttempt(webhook.traceparent, SPAN, async () => {
    const startedAt = clock.now()
    const ended = (rest: Omit<Outcome, 'startedAt' | 'durationMs'>): Outcome => ({
      startedAt,
      durationMs: Math.max(0, clock.now().getTime() - startedAt.getTime()),
      ...rest,
    })
    try {
      const { url, body } = webhook
      const headers = webhookHeaders(webhook, { secrets: openSecrets(sealer, webhook), startedAt })
      const { status, response } = await post({ dispatcher, url, headers, body, timeoutMs })
      return ended({ status, response, error: status >= 200 && status < 300 ? null : 'http_status' })
    } catch (cause) {
      const answer = cause instanceof AttemptTimeout ? cause.answer : undefined
      const { status = null, response = null } = answer ?? {}
      return ended({ status, response, error: failureClass(cause), cause })
    }
  })
