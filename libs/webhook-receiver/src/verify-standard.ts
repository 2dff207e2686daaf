import type { DuplicateStore } from './duplicates'
import { type HeadersLike, headerOf } from './headers'
import type { LeadCreated } from './lead-created'
import type { RawBody } from './raw-body'
import { readPayload } from './read-payload'
import { type Refused, refused, type VerifiedOnce } from './results'
import { hasStandardSignature, type Secrets } from './signatures'

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

const TOLERANCE_SECONDS = 5 * 60
// Longer than the whole schedule of retries (1 h 51 min) and than a receiver that is unavailable for an evening.
const REMEMBER_SECONDS = 24 * 60 * 60

export interface StandardOptions {
  /** The clock; the machine's when absent. */
  now?: Date
  /** How far `webhook-timestamp` may be from now, either way; 300 when absent. Every attempt has a new one. */
  toleranceSeconds?: number
  /** Where ids are remembered; without one, duplicates are not looked for. */
  store?: DuplicateStore
  /** How long an id is remembered; a day when absent. Longer finds deliveries that were sent again by hand later. */
  rememberSeconds?: number
}

/**
 * Verifies `webhook-signature` (Standard Webhooks 1.0.0) and the age of the request, parses the body, and, with a
 * `store`, refuses an id that it has seen. An id is remembered only when everything else is right.
 *
 * If handling the payload fails afterwards, make the store forget the id before you answer: the retry would be taken
 * for a duplicate, and the lead lost.
 *
 * @param rawBody the bytes exactly as they came
 * @param secret the endpoint's; several while it is being changed
 * @returns rejects with what the store throws, and (TypeError) for a parsed body or a missing secret; never for what a
 *   sender did
 */
export const verifyStandard = async <Payload = LeadCreated>(
  rawBody: RawBody,
  headers: HeadersLike,
  secret: Secrets,
  options: StandardOptions = {},
): Promise<VerifiedOnce<Payload> | Refused> => {
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
  const age = ageFault(Number(timestamp), options)
  if (age) return age
  const read = readPayload<Payload>(rawBody)
  if (!read.ok) return read
  const { store, rememberSeconds = REMEMBER_SECONDS } = options
  if (store && !(await store.remember(id, rememberSeconds)))
    return refused('duplicate', `${id} was received before.`, 'webhook-id')
  return { ...read, id, sentAt: new Date(Number(timestamp) * 1000) }
}

const ageFault = (
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
