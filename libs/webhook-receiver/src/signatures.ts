import { createHmac, timingSafeEqual } from 'node:crypto'
import { bytesOf, type RawBody } from './raw-body'

/** One secret, or several while a receiver changes from one to the next. */
export type Secrets = string | readonly string[]

/**
 * Whether X-SERVICE-Signature is right (interface: Authentication): HMAC-SHA1 over the raw body in lower-case hex,
 * keyed with the UTF-8 bytes of the secret exactly as it is shown, prefix included.
 * @throws TypeError without a secret
 */
export const hasServiceSignature = (body: RawBody, signature: string, secret: Secrets): boolean => {
  const bytes = bytesOf(body)
  return secretsOf(secret).some((one) =>
    isEqual(signature, createHmac('sha1', one).update(bytes).digest('hex')),
  )
}

/**
 * Whether one of the signatures in `webhook-signature` is right (Standard Webhooks 1.0.0): `v1,` and the HMAC-SHA256 of
 * `id.timestamp.body` in base64, several of them parted by spaces. Versions other than v1 are passed over. Says nothing
 * about the age of the request.
 * @param timestamp the header's text, as it came
 * @throws TypeError without a secret
 */
export const hasStandardSignature = (
  body: RawBody,
  { id, timestamp, signatures }: { id: string; timestamp: string; signatures: string },
  secret: Secrets,
): boolean => {
  const bytes = bytesOf(body)
  const given = signatures.split(' ')
  return secretsOf(secret).some((one) => {
    const hmac = createHmac('sha256', standardKey(one)).update(`${id}.${timestamp}.`).update(bytes)
    const right = `v1,${hmac.digest('base64')}`
    return given.some((signature) => isEqual(signature, right))
  })
}

// `whsec_` and base64 is how the specification writes a key of bytes. A secret of any other form, and one that is not
// exactly what encoding its bytes would give, is used as it is.
const standardKey = (secret: string): Buffer => {
  const encoded = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : ''
  const key = Buffer.from(encoded, 'base64')
  return encoded !== '' && key.toString('base64') === encoded ? key : Buffer.from(secret)
}

// An empty key would verify what anybody can compute: an unset environment variable must not open the door.
const secretsOf = (secret: Secrets): readonly string[] => {
  const secrets = typeof secret === 'string' ? [secret] : secret
  if (!Array.isArray(secrets) || secrets.length === 0 || secrets.some((one) => !isText(one)))
    throw new TypeError('The webhook secret is missing or empty.')
  return secrets
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** In constant time for texts of one length; the length of a signature is no secret. */
const isEqual = (given: string, right: string): boolean => {
  const [a, b] = [Buffer.from(given), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}
