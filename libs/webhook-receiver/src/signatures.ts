import { createHmac, timingSafeEqual } from 'node:crypto'
import { isAnyArrayBuffer } from 'node:util/types'

/** An unparsed body. A string counts as its UTF-8 bytes. Prefer bytes, because decoding may change a body. */
export type RawBody = Uint8Array | ArrayBuffer | string

/**
 * Returns the bytes of a body. Throws TypeError for other types, such as a parsed body, which has lost its
 * bytes.
 */
export const toBytes = (body: RawBody): Uint8Array => {
  if (typeof body === 'string') return Buffer.from(body)
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (isAnyArrayBuffer(body)) return Buffer.from(body)
  throw new TypeError(
    'The raw body must be bytes (or a string), exactly as received. A parsed body does not have the signed bytes, ' +
      'even if it is converted to JSON again. Configure your framework to keep the raw body.',
  )
}

/** One secret, or several while the secret is rotated. */
export type Secrets = string | readonly string[]

// Rejects empty secrets, such as from an unset environment variable. Anyone could sign with an empty secret.
const requireSecrets = (secret: Secrets): readonly string[] => {
  const secrets = typeof secret === 'string' ? [secret] : secret
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  if (!Array.isArray(secrets) || secrets.length === 0 || !secrets.every(isText))
    throw new TypeError('The webhook secret is missing or empty.')
  return secrets
}

const requireSecret = (secret: string): string => requireSecrets(secret)[0]!

/** Compares in constant time, except for the lengths, which are not secret. */
const isEqual = (given: string, expected: string): boolean => {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/**
 * Returns the HMAC-SHA1 of the raw body in lower-case hex. The key is the bytes of the secret exactly as
 * shown, including its prefix.
 */
export const serviceSignature = (body: RawBody, secret: string): string =>
  createHmac('sha1', requireSecret(secret)).update(toBytes(body)).digest('hex')

export const hasServiceSignature = (body: RawBody, signature: string, secret: Secrets): boolean =>
  requireSecrets(secret).some((one) => isEqual(signature, serviceSignature(body, one)))

// Returns the key of a secret. The specification writes a binary key as `whsec_` and base64, with or without
// padding. A secret is decoded only if encoding the bytes again gives the same text. For any other secret,
// the bytes of its text are the key.
const standardKey = (secret: string): Buffer => {
  const encoded = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : ''
  const key = Buffer.from(encoded, 'base64')
  const padded = key.toString('base64')
  const unpadded = padded.replace(/=+$/, '')
  const isBase64 = encoded !== '' && (encoded === padded || encoded === unpadded)
  return isBase64 ? key : Buffer.from(secret)
}

/**
 * Returns a signature of Standard Webhooks 1.0.0: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64.
 */
export const standardSignature = (
  body: RawBody,
  { id, timestamp }: { id: string; timestamp: string },
  secret: string,
): string => {
  const hmac = createHmac('sha256', standardKey(requireSecret(secret))).update(`${id}.${timestamp}.`)
  return `v1,${hmac.update(toBytes(body)).digest('base64')}`
}

/**
 * Returns whether at least one of the space-separated `signatures` is valid. Ignores signatures of other
 * versions. Does not check the age of the request.
 */
export const hasStandardSignature = (
  body: RawBody,
  { signatures, ...stamp }: { id: string; timestamp: string; signatures: string },
  secret: Secrets,
): boolean => {
  const given = signatures.split(' ')
  return requireSecrets(secret).some((one) => {
    const expected = standardSignature(body, stamp, one)
    return given.some((signature) => isEqual(signature, expected))
  })
}
