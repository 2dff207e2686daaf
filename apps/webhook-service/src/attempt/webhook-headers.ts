import { childTraceparent, newTraceparent, VERSION } from '@leadwire/service-kit'
import { serviceSignature, standardSignature } from './signatures'

/**
 * The headers of an attempt: the four of the interface (Delivery), those of Standard Webhooks 1.0.0, whose id is the
 * event's and so the same each time, and the event's trace, one span further.
 */
export const webhookHeaders = (
  event: { eventId: string; accountKey: string; secret: string; body: Buffer; traceparent: string | null },
  startedAt: Date,
): Record<string, string> => {
  const { eventId, accountKey, secret, body, traceparent } = event
  const timestamp = Math.floor(startedAt.getTime() / 1000)
  return {
    'Content-Type': 'application/json',
    'User-Agent': `Leadwire/${VERSION}`,
    'X-SERVICE-Signature': serviceSignature(secret, body),
    'X-SERVICE-Account-Key': accountKey,
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standardSignature(secret, { id: eventId, timestamp, body }),
    traceparent: traceparent ? childTraceparent(traceparent) : newTraceparent(),
  }
}
