import { activeTraceparent, newTraceparent, VERSION } from '@leadwire/service-kit'
import { serviceSignature, standardSignature } from '@leadwire/webhook-receiver'
import type { SealedSecrets, Secrets } from '../endpoints/secrets/sealed-secrets'

const USER_AGENT = `Leadwire/${VERSION}`

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

/** The secrets that sign an attempt at `at`, oldest first. X-SERVICE-Signature is of the first, webhook-signature of each. */
const signingSecrets = ({ secret, oldSecrets }: Secrets, at: Date): string[] => {
  const old = oldSecrets.filter(({ until }) => at.getTime() < Date.parse(until)).map((each) => each.secret)
  return [...new Set([...old, secret])]
}

type Labels = Pick<Webhook, 'eventId' | 'accountKey' | 'sequence' | 'leadVersion'>

/** The headers of every attempt, before one is made. Null: computed for each attempt, or a secret value of the endpoint's own header. */
export const knownHeaders = (
  { eventId, accountKey, sequence, leadVersion }: Labels,
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
  const timestamp = String(Math.floor(startedAt.getTime() / 1000))
  const signing = signingSecrets(secrets, startedAt)
  const signatures = signing.map((secret) => standardSignature(body, { id, timestamp }, secret))
  // In the order of the known ones; none of them stays null.
  return {
    ...secrets.headers,
    ...(knownHeaders(webhook) as Record<string, string>),
    'X-SERVICE-Signature': serviceSignature(body, signing[0]!),
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
    traceparent: activeTraceparent() ?? newTraceparent(traceparent || undefined),
  }
}
