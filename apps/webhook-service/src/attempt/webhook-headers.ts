import { activeTraceparent, childTraceparent, newTraceparent, VERSION } from '@leadwire/service-kit'
import type { Secrets, StoredSecrets } from '../endpoints/sealed-secrets'
import { serviceSignature, standardSignature } from './signatures'

const USER_AGENT = `Leadwire/${VERSION}`

/** What an attempt sends, where to, and with which secrets. */
export interface Webhook extends StoredSecrets {
  url: string
  eventId: string
  accountKey: string
  /** The event's number in its account's log; null of what is not in it, such as a sample. */
  sequence: number | null
  /** The version of the event's lead; null of an event that is of no lead. */
  leadVersion: number | null
  /** Shared by the deliveries of its event. */
  body: Buffer
  traceparent: string | null
}

/**
 * The secrets that sign an attempt that starts at `at`, oldest first, the current one last. The document's header,
 * which carries one signature, is made with the first; Standard Webhooks' carries one of each.
 */
const signingSecrets = ({ secret, oldSecrets }: Secrets, at: Date): [string, ...string[]] => {
  const old = oldSecrets.filter(({ until }) => at.getTime() < Date.parse(until)).map((each) => each.secret)
  const [first = secret, ...others] = [...old, secret]
  return [first, ...others]
}

type Order = Pick<Webhook, 'sequence' | 'leadVersion'>

const orderHeaders = ({ sequence, leadVersion }: Order) => ({
  ...(sequence !== null && { 'webhook-sequence': String(sequence) }),
  ...(leadVersion !== null && { 'webhook-lead-version': String(leadVersion) }),
})

/**
 * The headers of each attempt, those of the endpoint by their names, as far as they are the same each time: null stands for what is
 * made for an attempt, and for the values of the endpoint's own, which are secrets.
 */
export const knownHeaders = (
  { eventId, accountKey, ...order }: Pick<Webhook, 'eventId' | 'accountKey'> & Order,
  headerNames: string[],
): Record<string, string | null> => ({
  ...Object.fromEntries(headerNames.map((name) => [name, null])),
  'Content-Type': 'application/json',
  'User-Agent': USER_AGENT,
  'X-SERVICE-Signature': null,
  'X-SERVICE-Account-Key': accountKey,
  'webhook-id': eventId,
  'webhook-timestamp': null,
  'webhook-signature': null,
  ...orderHeaders(order),
  traceparent: null,
})

/**
 * The headers of an attempt: the four of the interface (Delivery), those of Standard Webhooks 1.0.0, whose id is the
 * event's and so the same each time, the event's number and its lead's version, and its trace, one span further; before them the endpoint's own. Which secrets sign is decided by when
 * the attempt starts.
 */
export const webhookHeaders = (
  webhook: Webhook,
  { secrets, startedAt }: { secrets: Secrets; startedAt: Date },
): Record<string, string> => {
  const { eventId, accountKey, body, traceparent } = webhook
  const timestamp = Math.floor(startedAt.getTime() / 1000)
  const signing = signingSecrets(secrets, startedAt)
  return {
    ...secrets.headers,
    'Content-Type': 'application/json',
    'User-Agent': USER_AGENT,
    'X-SERVICE-Signature': serviceSignature(signing[0], body),
    'X-SERVICE-Account-Key': accountKey,
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signing
      .map((secret) => standardSignature(secret, { id: eventId, timestamp, body }))
      .join(' '),
    ...orderHeaders(webhook),
    traceparent: activeTraceparent() ?? (traceparent ? childTraceparent(traceparent) : newTraceparent()),
  }
}
