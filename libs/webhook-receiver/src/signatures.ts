import { createHmac, timingSafeEqual } from 'node:crypto'
import { isAnyArrayBuffer } from 'node:util/types'

/** A body before any parsing. A string stands for its UTF-8 bytes: prefer the bytes, decoding may have changed them. */
export type RawBody = Uint8Array | ArrayBuffer | string

/** @throws TypeError for anything else, above all for a body that was parsed already: its bytes are gone. */
export const bytesOf = (body: RawBody): Uint8Array => {
  if (typeof body === 'string') return Buffer.from(body)
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (isAnyArrayBuffer(body)) return Buffer.from(body)
  throw new TypeError(
    'The raw body must be bytes (or a string), exactly as they came. A parsed body, even printed as JSON again, has ' +
      'other bytes than those that were signed: have your framework keep the raw ones.',
  )
}

/** One secret, or several while a receiver changes from one to the next. */
export type Secrets = string | readonly string[]

// An empty key would verify what anybody can compute: an unset environment variable must not open the door.
const secretsOf = (secret: Secrets): readonly string[] => {
  const secrets = typeof secret === 'string' ? [secret] : secret
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  if (!Array.isArray(secrets) || secrets.length === 0 || !secrets.every(isText))
    throw new TypeError('The webhook secret is missing or empty.')
  return secrets
}

const theSecret = (secret: string): string => secretsOf(secret)[0]!

/** In constant time for texts of one length; the length of a signature is no secret. */
const isEqual = (given: string, right: string): boolean => {
  const [a, b] = [Buffer.from(given), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** HMAC-SHA1 over the raw body in lower-case hex, keyed with the bytes of the secret exactly as it is shown, prefix included. */
export const serviceSignature = (body: RawBody, secret: string): string =>
  createHmac('sha1', theSecret(secret)).update(bytesOf(body)).digest('hex')

export const hasServiceSignature = (body: RawBody, signature: string, secret: Secrets): boolean =>
  secretsOf(secret).some((one) => isEqual(signature, serviceSignature(body, one)))

// `whsec_` and base64 is how the specification writes a key of bytes. A secret of any other form, and one that is not
// exactly what encoding its bytes would give, is used as it is.
const standardKey = (secret: string): Buffer => {
  const encoded = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : ''
  const key = Buffer.from(encoded, 'base64')
  return encoded !== '' && key.toString('base64') === encoded ? key : Buffer.from(secret)
}

/** Standard Webhooks 1.0.0: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. */
export const standardSignature = (
  body: RawBody,
  { id, timestamp }: { id: string; timestamp: string },
  secret: string,
): string => {
  const hmac = createHmac('sha256', standardKey(theSecret(secret))).update(`${id}.${timestamp}.`)
  return `v1,${hmac.update(bytesOf(body)).digest('base64')}`
}

/** One of `signatures`, separated by spaces, is right; other versions are passed over. Says nothing about the age of the request. */
export const hasStandardSignature = (
  body: RawBody,
  { signatures, ...stamp }: { id: string; timestamp: string; signatures: string },
  secret: Secrets,
): boolean => {
  const given = signatures.split(' ')
  return secretsOf(secret).some((one) => {
    const right = standardSignature(body, stamp, one)
    return given.some((signature) => isEqual(signature, right))
  })
}
