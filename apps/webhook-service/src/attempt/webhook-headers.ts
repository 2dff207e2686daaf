import { activeTraceparent, childTraceparent, newTraceparent, VERSION } from '@leadwire/service-kit'
import type { SealedSecrets, Secrets } from '../endpoints/secrets/sealed-secrets'
import { serviceSignature, standardSignature } from './signatures'

const USER_AGENT = `Leadwire/${VERSION}`

interface EventLabels {
  eventId: string
  accountKey: string
  /** The event's number in its account's log; null of a sample or notification. */
  sequence: number | null
  /** The version of the event's lead; null of a notification. */
  leadVersion: number | null
}

export interface Webhook extends EventLabels, SealedSecrets {
  url: string
  /** Shared by the deliveries of its event. */
  body: Buffer
  traceparent: string | null
}

/** The secrets that sign an attempt at `at`, oldest first. X-SERVICE-Signature is of the first, webhook-signature of each. */
const signingSecrets = ({ secret, oldSecrets }: Secrets, at: Date): [string, ...string[]] => {
  const old = oldSecrets.filter(({ until }) => at.getTime() < Date.parse(until)).map((each) => each.secret)
  const [first = secret, ...others] = [...old, secret]
  return [first, ...others]
}

/** The headers of every attempt, before one is made. Null: computed for each attempt, or a secret value of the endpoint's own header. */
export const knownHeaders = (
  { eventId, accountKey, sequence, leadVersion }: EventLabels,
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

/** The endpoint's own headers, the four of the interface (Delivery), those of Standard Webhooks 1.0.0, and ours. */
export const webhookHeaders = (
  webhook: Webhook,
  { secrets, startedAt }: { secrets: Secrets; startedAt: Date },
): Record<string, string> => {
  const { eventId: id, body, traceparent } = webhook
  const timestamp = Math.floor(startedAt.getTime() / 1000)
  const signing = signingSecrets(secrets, startedAt)
  const signatures = signing.map((secret) => standardSignature(secret, { id, timestamp, body }))
  // In the order of the known ones; none of them stays null.
  return {
    ...secrets.headers,
    ...(knownHeaders(webhook) as Record<string, string>),
    'X-SERVICE-Signature': serviceSignature(signing[0], body),
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
    traceparent: activeTraceparent() ?? (traceparent ? childTraceparent(traceparent) : newTraceparent()),
  }
}
