import { createHmac, timingSafeEqual } from 'node:crypto'

/** Checks webhook-signature. `body` is a Buffer with the raw bytes. */
export function verifyStandard(body, id, timestamp, signatures, secret, now = Date.now() / 1000) {
  if (!secret) throw new Error('the webhook secret is missing')
  if (!id || !signatures || !/^\d{1,12}$/.test(timestamp ?? '')) return false
  if (Math.abs(Math.floor(now) - Number(timestamp)) > 300) return false
  const hmac = createHmac('sha256', standardKey(secret)).update(`${id}.${timestamp}.`).update(body)
  const right = `v1,${hmac.digest('base64')}`
  return signatures.split(' ').some((signature) => isEqual(signature, right))
}

/** Checks X-SERVICE-Signature. */
export function verifyService(body, signature, secret) {
  if (!secret) throw new Error('the webhook secret is missing')
  return isEqual(signature, createHmac('sha1', secret).update(body).digest('hex'))
}

function standardKey(secret) {
  const encoded = secret.startsWith('whsec_') ? secret.slice(6) : ''
  const key = Buffer.from(encoded, 'base64')
  const padded = key.toString('base64')
  const isBase64 = encoded && (encoded === padded || encoded === padded.replace(/=+$/, ''))
  return isBase64 ? key : Buffer.from(secret)
}

function isEqual(given, right) {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}
