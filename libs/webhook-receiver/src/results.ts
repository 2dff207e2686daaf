import type { LeadCreated } from './lead-created'

/**
 * Why a request was not accepted:
 * - `missing_header`: a header the signature needs is not there; `header` names it.
 * - `malformed_header`: `webhook-timestamp` is no whole number of seconds.
 * - `bad_signature`: nobody who knows the secret signed these bytes.
 * - `too_old`, `too_new`: the signature is right, but `webhook-timestamp` is too far from now.
 * - `malformed_body`: the signature is right, but the body is no JSON.
 */
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

export const refused = (code: RefusalCode, message: string, header?: string): Refused => ({
  ok: false,
  code,
  message,
  ...(header !== undefined && { header }),
})
