import { activeTraceparent, newTraceparent, VERSION } from '@leadwire/service-kit'
import type { SealedSecrets, Secrets } from '../endpoints/secrets/sealed-secrets'
import { serviceSignature, standardSignature } from './signatures'

const USER_AGENT = `Leadwire/${VERSION}`

/** What an attempt sends, where to, and with which secrets. */
export interface Webhook extends SealedSecrets {
  url: string
  eventId: string
  accountKey: string
  /** The event's number in its account's log; null of a sample or notification. */
  sequence: number | null
  /** The version of the event's lead; null of a notification. */
  leadVersion: number | null
  /** Shared by the deliveries of its event. */
  body: Buffer
  traceparent: string | null
}

/**
 * The secrets that sign an attempt that starts at `at`, oldest first. The document's header carries one signature, of the first;
 * that of Standard Webhooks carries one of each.
 */
const signingSecrets = ({ secret, oldSecrets }: Secrets, at: Date): [string, ...string[]] => {
  const old = oldSecrets.filter(({ until }) => at.getTime() < Date.parse(until)).map((each) => each.secret)
  const [first = secret, ...others] = [...old, secret]
  return [first, ...others]
}

/**
 * The headers of every attempt, before one is made. Null stands for values that each attempt computes, and for those of the
 * endpoint's own headers, which are secrets.
 */
export const knownHeaders = (
  {
    eventId,
    accountKey,
    sequence,
    leadVersion,
  }: Omit<Webhook, 'url' | 'body' | 'traceparent' | keyof SealedSecrets>,
  headerNames: string[] = [],
): Record<string, string | null> => ({
  ...Object.fromEntries(headerNames.map((name) => [name, null])),
  'Content-Type': 'application/json',
  'User-Agent': USER_AGENT,
  'X-SERVICE-Signature': null,
  'X-SERVICE-Account-Key': accountKey,
  'webhook-id': eventId,
  'webhook-timestamp': null,
  'webhook-signature': null,
  ...(sequence !== null && { 'webhook-sequence': String(sequence) }),
  ...(leadVersion !== null && { 'webhook-lead-version': String(leadVersion) }),
  traceparent: null,
})

/**
 * The headers of an attempt: the endpoint's own, the four of the interface (Delivery), those of Standard Webhooks 1.0.0 (whose id
 * is the event's, the same on every attempt), the event's number, the version of its lead, and a child span of its trace. The
 * start of the attempt decides which secrets sign.
 */
export const webhookHeaders = (
  webhook: Webhook,
  { secrets, startedAt }: { secrets: Secrets; startedAt: Date },
): Record<string, string> => {
  const { eventId: id, body, traceparent } = webhook
  const timestamp = Math.floor(startedAt.getTime() / 1000)
  const signing = signingSecrets(secrets, startedAt)
  const computed = {
    'X-SERVICE-Signature': serviceSignature(signing[0], body),
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signing
      .map((secret) => standardSignature(secret, { id, timestamp, body }))
      .join(' '),
    traceparent: activeTraceparent() ?? newTraceparent(traceparent || undefined),
  }
  // In the order of the known ones; none of them stays null.
  return { ...secrets.headers, ...(knownHeaders(webhook) as Record<string, string>), ...computed }
}
