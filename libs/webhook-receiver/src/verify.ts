import { type HeadersLike, headerOf } from './headers'
import type { LeadCreated } from './lead-created'
import { bytesOf, hasServiceSignature, hasStandardSignature, type RawBody, type Secrets } from './signatures'

/** The README says what each means. Of `too_old`, `too_new` and `malformed_body` the signature is right. */
export type RefusalCode =
  | 'missing_header'
  | 'malformed_header'
  | 'bad_signature'
  | 'too_old'
  | 'too_new'
  | 'malformed_body'

export interface Refused {
  ok: false
  code: RefusalCode
  /** For a log; never repeats the secret or the right signature. */
  message: string
  /** The header at error, in lower case. */
  header?: string
}

export interface Verified<Payload = LeadCreated> {
  ok: true
  /** The parsed body. Its shape is what the sender promises; the signature says who sent it, not what is in it. */
  payload: Payload
}

export interface VerifiedStandard<Payload = LeadCreated> extends Verified<Payload> {
  /** `webhook-id`: the event's, the same on every attempt. */
  id: string
  /** `webhook-timestamp`: when this attempt was made. */
  sentAt: Date
}

const refused = (code: RefusalCode, message: string, header?: string): Refused => ({
  ok: false,
  code,
  message,
  ...(header !== undefined && { header }),
})

const readPayload = <Payload>(body: RawBody): Verified<Payload> | Refused => {
  try {
    // JSON between systems is UTF-8 without a byte order mark (RFC 8259, 8.1): broken bytes are no JSON.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(body))
    return { ok: true, payload: JSON.parse(text) as Payload }
  } catch {
    return refused('malformed_body', 'The signature is right, but the body is no JSON.')
  }
}

const SERVICE_SIGNATURE = 'x-service-signature'

/**
 * Verifies X-SERVICE-Signature and parses the body. Covers the body alone: a recorded request verifies for ever, and
 * `webhook-id` is not protected. Never throws for what a sender did, only (TypeError) for a parsed body or no secret.
 * @param rawBody the bytes exactly as they came
 * @param secret the endpoint's; several while it is being changed
 */
export const verify = <Payload = LeadCreated>(
  rawBody: RawBody,
  headers: HeadersLike,
  secret: Secrets,
): Verified<Payload> | Refused => {
  const name = SERVICE_SIGNATURE
  const signature = headerOf(headers, name)
  if (signature === undefined) return refused('missing_header', `There is no ${name} header.`, name)
  if (!hasServiceSignature(rawBody, signature, secret))
    return refused('bad_signature', `${name} does not sign this body with this secret.`, name)
  return readPayload<Payload>(rawBody)
}

const STANDARD = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const
const [, TIMESTAMP, SIGNATURE] = STANDARD

const TOLERANCE_SECONDS = 5 * 60

export interface StandardOptions {
  /** The clock; the machine's when absent. */
  now?: Date
  /** How far `webhook-timestamp` may be from now, either way; 300 when absent. Every attempt has a new one. */
  toleranceSeconds?: number
}

/** Verifies `webhook-signature` (Standard Webhooks 1.0.0) and the age, and parses the body. A repeated event verifies too. */
export const verifyStandard = <Payload = LeadCreated>(
  rawBody: RawBody,
  headers: HeadersLike,
  secret: Secrets,
  { now = new Date(), toleranceSeconds = TOLERANCE_SECONDS }: StandardOptions = {},
): VerifiedStandard<Payload> | Refused => {
  const [id, timestamp, signatures] = STANDARD.map((name) => headerOf(headers, name))
  if (id === undefined || timestamp === undefined || signatures === undefined) {
    const missing = STANDARD.find((name) => headerOf(headers, name) === undefined)!
    return refused('missing_header', `There is no ${missing} header.`, missing)
  }
  if (!/^\d{1,12}$/.test(timestamp))
    return refused('malformed_header', `${TIMESTAMP} is no number of seconds.`, TIMESTAMP)
  if (!hasStandardSignature(rawBody, { id, timestamp, signatures }, secret))
    return refused('bad_signature', `${SIGNATURE} does not sign this request with this secret.`, SIGNATURE)
  // Whole seconds on both sides, as the specification's libraries count.
  const age = Math.floor(now.getTime() / 1000) - Number(timestamp)
  // A clock that is no time must not switch the check off: every comparison with NaN is false.
  if (Number.isNaN(age) || Number.isNaN(toleranceSeconds))
    throw new TypeError('now and toleranceSeconds must be a valid time and a number.')
  if (age > toleranceSeconds) return refused('too_old', `It was sent ${age} s ago.`, TIMESTAMP)
  if (-age > toleranceSeconds)
    return refused('too_new', `It was sent ${-age} s from now; compare the clocks.`, TIMESTAMP)
  const read = readPayload<Payload>(rawBody)
  return read.ok ? { ...read, id, sentAt: new Date(Number(timestamp) * 1000) } : read
}
