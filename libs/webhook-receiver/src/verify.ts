import { type HeadersLike, readHeader } from './headers'
import type { LeadCreated } from './lead-created'
import { hasServiceSignature, hasStandardSignature, type RawBody, type Secrets, toBytes } from './signatures'

/** The README explains each code. With `too_old`, `too_new` and `malformed_body` the signature is valid. */
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
  /** A message for a log. It never contains the secret or the expected signature. */
  message: string
  /** The name of the missing or invalid header, in lower case. */
  header?: string
}

export interface Verified<Payload = LeadCreated> {
  ok: true
  /** The parsed body. Its type is not checked: the signature proves the sender, not the content. */
  payload: Payload
}

export interface VerifiedStandard<Payload = LeadCreated> extends Verified<Payload> {
  /** The `webhook-id`: the id of the event, the same on every attempt. */
  id: string
  /** The `webhook-timestamp`: the time of this attempt. */
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
    // Requires UTF-8 without a byte order mark (RFC 8259, 8.1).
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(toBytes(body))
    return { ok: true, payload: JSON.parse(text) as Payload }
  } catch {
    return refused('malformed_body', 'The signature is valid, but the body is not JSON.')
  }
}

const SERVICE_SIGNATURE = 'x-service-signature'

/**
 * Verifies X-SERVICE-Signature and parses the body. The signature covers only the body: a recorded request
 * stays valid for ever, and `webhook-id` is not protected. Never throws because of the request. Throws
 * TypeError for a parsed body or without a secret.
 * @param rawBody the bytes exactly as received
 * @param secret the secret of the endpoint, or all valid secrets during a rotation
 */
export const verify = <Payload = LeadCreated>(
  rawBody: RawBody,
  headers: HeadersLike,
  secret: Secrets,
): Verified<Payload> | Refused => {
  const name = SERVICE_SIGNATURE
  const signature = readHeader(headers, name)
  if (signature === undefined) return refused('missing_header', `The ${name} header is missing.`, name)
  if (!hasServiceSignature(rawBody, signature, secret))
    return refused('bad_signature', `${name} does not match this body and this secret.`, name)
  return readPayload<Payload>(rawBody)
}

const STANDARD = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const
const [, TIMESTAMP, SIGNATURE] = STANDARD

const TOLERANCE_SECONDS = 5 * 60

export interface StandardOptions {
  /** The current time. Default: the machine's clock. */
  now?: Date
  /**
   * The maximum distance of `webhook-timestamp` from `now` in either direction. Default: 300. Every attempt
   * has a new timestamp, so a late retry is not too old.
   */
  toleranceSeconds?: number
}

/**
 * Verifies `webhook-signature` (Standard Webhooks 1.0.0) and the age, and parses the body. Does not detect
 * duplicates.
 */
export const verifyStandard = <Payload = LeadCreated>(
  rawBody: RawBody,
  headers: HeadersLike,
  secret: Secrets,
  { now = new Date(), toleranceSeconds = TOLERANCE_SECONDS }: StandardOptions = {},
): VerifiedStandard<Payload> | Refused => {
  const [id, timestamp, signatures] = STANDARD.map((name) => readHeader(headers, name))
  if (id === undefined || timestamp === undefined || signatures === undefined) {
    const missing = STANDARD.find((name) => readHeader(headers, name) === undefined)!
    return refused('missing_header', `The ${missing} header is missing.`, missing)
  }
  if (!/^\d{1,12}$/.test(timestamp))
    return refused('malformed_header', `${TIMESTAMP} is not a number of seconds.`, TIMESTAMP)
  if (!hasStandardSignature(rawBody, { id, timestamp, signatures }, secret))
    return refused('bad_signature', `${SIGNATURE} does not match this request and this secret.`, SIGNATURE)
  // Compares whole seconds, as the libraries of the specification do.
  const age = Math.floor(now.getTime() / 1000) - Number(timestamp)
  // Rejects an invalid clock, which would disable the check: every comparison with NaN is false.
  if (Number.isNaN(age) || Number.isNaN(toleranceSeconds))
    throw new TypeError('now must be a valid time, and toleranceSeconds must be a number.')
  if (age > toleranceSeconds) return refused('too_old', `The request was sent ${age} s ago.`, TIMESTAMP)
  if (-age > toleranceSeconds)
    return refused('too_new', `The request was sent ${-age} s in the future: check the clocks.`, TIMESTAMP)
  const read = readPayload<Payload>(rawBody)
  return read.ok ? { ...read, id, sentAt: new Date(Number(timestamp) * 1000) } : read
}
