import { type HeadersLike, headerOf } from './headers'
import type { LeadCreated } from './lead-created'
import type { RawBody } from './raw-body'
import { readPayload } from './read-payload'
import { type Refused, refused, type VerifiedStandard } from './results'
import { hasStandardSignature, type Secrets } from './signatures'

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

const TOLERANCE_SECONDS = 5 * 60

export interface StandardOptions {
  /** The clock; the machine's when absent. */
  now?: Date
  /** How far `webhook-timestamp` may be from now, either way; 300 when absent. Every attempt has a new one. */
  toleranceSeconds?: number
}

/**
 * Verifies `webhook-signature` (Standard Webhooks 1.0.0) and the age of the request, and parses the body. A repeated
 * event verifies like the first: `boundedStore` finds it by its id.
 *
 * @param rawBody the bytes exactly as they came
 * @param secret the endpoint's; several while it is being changed
 * @returns never throws for what a sender did, only (TypeError) for a parsed body or a missing secret
 */
export const verifyStandard = <Payload = LeadCreated>(
  rawBody: RawBody,
  headers: HeadersLike,
  secret: Secrets,
  options: StandardOptions = {},
): VerifiedStandard<Payload> | Refused => {
  const [id, timestamp, signatures] = NAMES.map((name) => headerOf(headers, name))
  if (id === undefined || timestamp === undefined || signatures === undefined) {
    const missing = NAMES.find((name) => headerOf(headers, name) === undefined)!
    return refused('missing_header', `There is no ${missing} header.`, missing)
  }
  if (!/^\d{1,12}$/.test(timestamp))
    return refused('malformed_header', 'webhook-timestamp is no number of seconds.', 'webhook-timestamp')
  if (!hasStandardSignature(rawBody, { id, timestamp, signatures }, secret))
    return refused(
      'bad_signature',
      'webhook-signature does not sign this request with this secret.',
      'webhook-signature',
    )
  const age = ageError(Number(timestamp), options)
  if (age) return age
  const read = readPayload<Payload>(rawBody)
  if (!read.ok) return read
  return { ...read, id, sentAt: new Date(Number(timestamp) * 1000) }
}

const ageError = (
  timestamp: number,
  { now = new Date(), toleranceSeconds = TOLERANCE_SECONDS }: StandardOptions,
): Refused | undefined => {
  // Whole seconds on both sides, as the specification's libraries count.
  const age = Math.floor(now.getTime() / 1000) - timestamp
  // A clock that is no time must not switch the check off: every comparison with NaN is false.
  if (Number.isNaN(age) || Number.isNaN(toleranceSeconds))
    throw new TypeError('now and toleranceSeconds must be a valid time and a number.')
  if (age > toleranceSeconds) return refused('too_old', `It was sent ${age} s ago.`, 'webhook-timestamp')
  if (-age > toleranceSeconds)
    return refused('too_new', `It was sent ${-age} s from now; compare the clocks.`, 'webhook-timestamp')
  return undefined
}
