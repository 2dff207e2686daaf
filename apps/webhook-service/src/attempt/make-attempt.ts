import type { AttemptError } from '@leadwire/contracts'
import { inSpanOf, type Sealer, SpanKind } from '@leadwire/service-kit'
import type { Dispatcher } from 'undici'
import type { Clock } from '../clock'
import { openSecrets } from '../endpoints/secrets/sealed-secrets'
import { failureClass } from './failure-class'
import { type AttemptTimeout, post } from './post'
import { type Webhook, webhookHeaders } from './webhook-headers'

export interface Result {
  status: number | null
  /** Null on success, and `ours` when it says nothing about the receiver. */
  error: AttemptError | 'ours' | null
  /** Whether a retry would have the same outcome. */
  permanent?: boolean
  response: string | null
  cause?: unknown
}

export interface Outcome extends Result {
  startedAt: Date
  durationMs: number
}

/** Makes and times an attempt, as a span of its event's trace. `status` names the span's attribute for the status. */
export const timeAttempt = (
  traceparent: string | null,
  { name, status, clock }: { name: string; status: string; clock: Clock },
  attempt: (startedAt: Date) => Promise<Result>,
): Promise<Outcome> =>
  inSpanOf(traceparent, { name, kind: SpanKind.CLIENT }, async (span) => {
    const startedAt = clock.now()
    const result = await attempt(startedAt)
    const durationMs = Math.max(0, clock.now().getTime() - startedAt.getTime())
    if (result.status !== null) span?.setAttribute(status, result.status)
    if (result.error !== null) span?.setAttribute('error.type', result.error)
    return { startedAt, durationMs, ...result }
  })

/** Makes one attempt (interface: Delivery). A 2xx answer within the time is success, everything else a failure. Never rejects. */
export const makeAttempt = (
  webhook: Webhook,
  options: { dispatcher: Dispatcher; sealer: Sealer; timeoutMs: number; clock: Clock },
): Promise<Outcome> => {
  const { dispatcher, sealer, timeoutMs, clock } = options
  const { url, body, traceparent } = webhook
  const span = { name: 'POST webhook', status: 'http.response.status_code', clock }
  return timeAttempt(traceparent, span, async (startedAt) => {
    try {
      const headers = webhookHeaders(webhook, { secrets: openSecrets(sealer, webhook), startedAt })
      const { status, response } = await post({ dispatcher, url, headers, body, timeoutMs })
      return { status, response, error: status >= 200 && status < 300 ? null : 'http_status' }
    } catch (cause) {
      const { status = null, response = null } = (cause as AttemptTimeout).answer ?? {}
      return { status, response, error: failureClass(cause), cause }
    }
  })
}
