import { childTraceparent, newTraceparent, VERSION } from '@leadwire/service-kit'
import { serviceSignature, standardSignature } from './signatures'

/** A secret that was replaced and signs until an instant (ISO 8601 in UTC, milliseconds). */
export interface OldSecret {
  secret: string
  until: string
}

/** What an attempt sends, where to, and with which secrets. */
export interface Webhook {
  url: string
  secret: string
  oldSecrets: OldSecret[]
  eventId: string
  accountKey: string
  /** Shared by the deliveries of its event. */
  body: Buffer
  traceparent: string | null
}

/**
 * The secrets that sign an attempt that starts at `at`, oldest first, the current one last. The document's header,
 * which carries one signature, is made with the first; Standard Webhooks' carries one of each.
 */
const signingSecrets = ({ secret, oldSecrets }: Webhook, at: Date): [string, ...string[]] => {
  const old = oldSecrets.filter(({ until }) => at.getTime() < Date.parse(until)).map((each) => each.secret)
  const [first = secret, ...others] = [...old, secret]
  return [first, ...others]
}

/**
 * The headers of an attempt: the four of the interface (Delivery), those of Standard Webhooks 1.0.0, whose id is the
 * event's and so the same each time, and the event's trace, one span further. Which secrets sign is decided by when
 * the attempt starts.
 */
export const webhookHeaders = (webhook: Webhook, startedAt: Date): Record<string, string> => {
  const { eventId, accountKey, body, traceparent } = webhook
  const timestamp = Math.floor(startedAt.getTime() / 1000)
  const secrets = signingSecrets(webhook, startedAt)
  return {
    'Content-Type': 'application/json',
    'User-Agent': `Leadwire/${VERSION}`,
    'X-SERVICE-Signature': serviceSignature(secrets[0], body),
    'X-SERVICE-Account-Key': accountKey,
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets
      .map((secret) => standardSignature(secret, { id: eventId, timestamp, body }))
      .join(' '),
    traceparent: traceparent ? childTraceparent(traceparent) : newTraceparent(),
  }
}
