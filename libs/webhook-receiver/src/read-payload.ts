import { bytesOf, type RawBody } from './raw-body'
import { type Refused, refused, type Verified } from './results'

/** Parses a body whose signature is right. */
export const readPayload = <Payload>(body: RawBody): Verified<Payload> | Refused => {
  try {
    // JSON between systems is UTF-8 (RFC 8259, 8.1): broken bytes are no JSON, not text with holes in it.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(body))
    return { ok: true, payload: JSON.parse(text) as Payload }
  } catch {
    return refused('malformed_body', 'The signature is right, but the body is no JSON.')
  }
}
