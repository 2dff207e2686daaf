import type { AttemptError } from '@leadwire/contracts'
import type { Sealer } from '@leadwire/service-kit'
import type { Dispatcher } from 'undici'
import type { Clock } from '../clock'
import { openSecrets } from '../endpoints/sealed-secrets'
import { failureClass } from './failure-class'
import { type Answer, AttemptTimeout, post } from './post'
import { traceAttempt } from './trace-attempt'
import { type Webhook, webhookHeaders } from './webhook-headers'

/** What came of an attempt. `error` is null on success; `ours` when nothing was learnt about the receiver. */
export interface Outcome {
  startedAt: Date
  durationMs: number
  status: number | null
  error: AttemptError | 'ours' | null
  /** Whether trying again would come to the same. */
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
 * Makes one attempt (interface: Delivery): a 2xx answer within the time is success, everything else is not. Never rejects. It is a
 * span of the event's trace.
 */
export const makeAttempt = (webhook: Webhook, options: Options): Promise<Outcome> =>
  traceAttempt(webhook.traceparent, SPAN, () => attempt(webhook, options))

const attempt = async (webhook: Webhook, options: Options): Promise<Outcome> => {
  const { dispatcher, sealer, timeoutMs, clock } = options
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
    const answer: Answer | undefined = cause instanceof AttemptTimeout ? cause.answer : undefined
    return ended({
      status: answer?.status ?? null,
      response: answer?.response ?? null,
      error: failureClass(cause),
      cause,
    })
  }
}
