import { createHmac } from 'node:crypto'

/** The headers of a webhook (interface: Lead Created). */
export const signedHeaders = (body: string | Uint8Array, accountKey: string) => ({
  'content-type': 'application/json',
  'user-agent': 'Leadwire/bench',
  'x-service-signature': createHmac('sha1', 'a-secret-of-the-benchmark').update(body).digest('hex'),
  'x-service-account-key': accountKey,
})
