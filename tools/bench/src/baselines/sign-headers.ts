import { createHmac } from 'node:crypto'

/** Builds the headers of a webhook as the API describes them, with the signature of its body. */
export const signHeaders = (body: string | Uint8Array) => ({
  'content-type': 'application/json',
  'user-agent': 'Leadwire/bench',
  'x-service-signature': createHmac('sha1', 'a-secret-of-the-benchmark').update(body).digest('hex'),
  'x-service-account-key': 'lw_key_bench',
})
