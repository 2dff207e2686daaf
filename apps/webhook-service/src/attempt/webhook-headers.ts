import { createHmac } from 'node:crypto'
import { activeTraceparent, newTraceparent, VERSION } from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
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

/** X-SERVICE-Signature (interface: Authentication). The key is the UTF-8 bytes of the secret exactly as it is shown, prefix included. */
export const serviceSignature = (secret: string, body: Buffer): string =>
  createHmac('sha1', secret).update(body).digest('hex')

/** webhook-signature (Standard Webhooks 1.0.0): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
export const standardSignature = (
  secret: string,
  { id, timestamp, body }: { id: string; timestamp: number; body: Buffer },
): string =>
  `v1,${createHmac('sha256', keys.memo(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64')}`

// `whsec_` and base64, as the specification writes a key. A secret that a receiver chose may have another form: then its UTF-8 bytes.
const decodeKey = (secret: string): Buffer => {
  const encoded = /^whsec_(.+)$/.exec(secret)?.[1]
  const key = Buffer.from(encoded ?? '', 'base64')
  return encoded !== undefined && key.toString('base64') === encoded ? key : Buffer.from(secret)
}

const keys = new LRUCache<string, Buffer>({ max: 10_000, memoMethod: decodeKey })

/** The secrets that sign an attempt at `at`, oldest first. X-SERVICE-Signature is of the first, webhook-signature of each. */
const signingSecrets = ({ secret, oldSecrets }: Secrets, at: Date): string[] => {
  const old = oldSecrets.filter(({ until }) => at.getTime() < Date.parse(until)).map((each) => each.secret)
  return [...old, secret]
}

/** The headers of every attempt, before one is made. Null: computed for each attempt, or a secret value of the endpoint's own header. */
export const knownHeaders = (
  {
    eventId,
    accountKey,
    sequence,
    leadVersion,
  }: Pick<Webhook, 'eventId' | 'accountKey' | 'sequence' | 'leadVersion'>,
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
    'X-SERVICE-Signature': serviceSignature(signing[0]!, body),
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
    traceparent: activeTraceparent() ?? newTraceparent(traceparent || undefined),
  }
}
