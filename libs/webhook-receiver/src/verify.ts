import { type HeadersLike, headerOf } from './headers'
import type { LeadCreated } from './lead-created'
import type { RawBody } from './raw-body'
import { readPayload } from './read-payload'
import { type Refused, refused, type Verified } from './results'
import { hasServiceSignature, type Secrets } from './signatures'

const SIGNATURE = 'x-service-signature'

/**
 * Verifies X-SERVICE-Signature and parses the body. It covers the body alone: a recorded request verifies for ever, and
 * `webhook-id` is not protected. `verifyStandard` refuses replays, and signs the id that duplicates are found by.
 *
 * @param rawBody the bytes exactly as they came
 * @param secret the endpoint's; several while it is being changed
 * @returns never throws for what a sender did, only (TypeError) for a parsed body or a missing secret
 */
export const verify = <Payload = LeadCreated>(
  rawBody: RawBody,
  headers: HeadersLike,
  secret: Secrets,
): Verified<Payload> | Refused => {
  const signature = headerOf(headers, SIGNATURE)
  if (signature === undefined) return refused('missing_header', `There is no ${SIGNATURE} header.`, SIGNATURE)
  if (!hasServiceSignature(rawBody, signature, secret))
    return refused('bad_signature', `${SIGNATURE} does not sign this body with this secret.`, SIGNATURE)
  return readPayload<Payload>(rawBody)
}
