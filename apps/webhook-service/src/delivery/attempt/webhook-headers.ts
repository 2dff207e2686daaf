import { activeTraceparent, newTraceparent, VERSION } from '@leadwire/service-kit'
import { serviceSignature, standardSignature } from '@leadwire/webhook-receiver'
import type { SealedSecrets, Secrets } from '../../endpoints/secrets/sealed-secrets'

const USER_AGENT = `Leadwire/${VERSION}`

export interface Webhook extends SealedSecrets {
  url: string
  eventId: string
  accountKey: string
  /** The event's number in its account's log. Null for a sample, a report or a notification. */
  sequence: number | null
  /** The version of the event's lead. Null if the event is not about a lead. */
  leadVersion: number | null
  /** The body. Deliveries of the same event may share the buffer. */
  body: Buffer
  traceparent: string | null
}

/**
 * Returns the secrets that sign an attempt that starts at `at`, oldest first. X-SERVICE-Signature uses the
 * first secret, and webhook-signature has a signature for each secret.
 */
const selectSecrets = ({ secret, oldSecrets }: Secrets, at: Date): string[] => {
  const old = oldSecrets.filter(({ until }) => at.getTime() < Date.parse(until)).map((each) => each.secret)
  return [...new Set([...old, secret])]
}

type Labels = Pick<Webhook, 'eventId' | 'accountKey' | 'sequence' | 'leadVersion'>

/**
 * Renders the headers of a webhook as far as they are known without an attempt. Null stands for a value that
 * each attempt computes. Null also stands for the secret value of each custom header of the endpoint
 * (`headerNames`).
 */
export const renderKnownHeaders = (
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

/**
 * Renders all headers of an attempt: the endpoint's custom headers, the headers that the lead API
 * prescribes (its section Delivery), the headers of Standard Webhooks 1.0.0, and Leadwire's additional
 * headers.
 */
export const renderHeaders = (
  webhook: Webhook,
  { secrets, startedAt }: { secrets: Secrets; startedAt: Date },
): Record<string, string> => {
  const { eventId: id, body, traceparent } = webhook
  const timestamp = String(Math.floor(startedAt.getTime() / 1000))
  const signing = selectSecrets(secrets, startedAt)
  const signatures = signing.map((secret) => standardSignature(body, { id, timestamp }, secret))
  return {
    ...secrets.headers,
    // Sets the order of the headers. The entries below replace each null.
    ...(renderKnownHeaders(webhook) as Record<string, string>),
    'X-SERVICE-Signature': serviceSignature(body, signing[0]!),
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
    traceparent: activeTraceparent() ?? newTraceparent(traceparent || undefined),
  }
}
