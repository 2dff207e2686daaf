// receive.mjs
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const { WEBHOOK_SECRET, WEBHOOK_HOST = '127.0.0.1', WEBHOOK_PORT = '4400' } = process.env
if (!WEBHOOK_SECRET) {
  console.error('Set WEBHOOK_SECRET to the secret of the endpoint.')
  process.exit(1)
}
// If the secret is whsec_ followed by base64 (padding is optional), the key is the decoded bytes. Otherwise
// the key is the secret itself.
const ENCODED = WEBHOOK_SECRET.startsWith('whsec_') ? WEBHOOK_SECRET.slice(6) : ''
const BYTES = Buffer.from(ENCODED, 'base64')
const PADDED = BYTES.toString('base64')
const IS_BASE64 = ENCODED && (ENCODED === PADDED || ENCODED === PADDED.replace(/=+$/, ''))
const KEY = IS_BASE64 ? BYTES : WEBHOOK_SECRET
const MAX_BYTES = 8 * 1024 * 1024

// Store the lead here, before the response. A 2xx response tells Leadwire not to send it again.
async function keep(lead) {
  console.log(`verified: lead ${lead.reference} from ${lead.customer.name}`)
}

// The state of each event. In production, keep this state in your database: write it in the same transaction
// as the lead, with a unique key on the webhook-id.
const events = new Map()

async function receive(request) {
  if (request.method !== 'POST') return 405
  const body = await read(request)
  if (!body) return 413
  if (!isGenuine(body, request.headers)) {
    console.log('refused: the signature does not match, or is old')
    return 401
  }
  const id = request.headers['webhook-id']
  // An earlier attempt that is still in progress may fail. A 409 makes Leadwire try again.
  if (events.has(id)) return events.get(id) === 'kept' ? 200 : 409
  try {
    events.set(id, 'in progress')
    await keep(JSON.parse(body).data)
    events.set(id, 'kept')
    return 200
  } catch (error) {
    events.delete(id)
    throw error
  }
}

// Returns the raw bytes of the body, which the signature covers, or undefined if there are too many.
async function read(request) {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size <= MAX_BYTES) chunks.push(chunk)
  }
  return size <= MAX_BYTES ? Buffer.concat(chunks) : undefined
}

// Verifies the signature of Standard Webhooks. While a secret is being changed, the header has one signature
// for each secret.
function isGenuine(body, headers) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers
  if (!(Math.abs(Date.now() / 1000 - timestamp) <= 300)) return false
  const hmac = createHmac('sha256', KEY).update(`${id}.${timestamp}.`).update(body)
  const expected = Buffer.from(`v1,${hmac.digest('base64')}`)
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

const server = createServer(async (request, response) => {
  const status = await receive(request).catch((error) => {
    console.error(error.message)
    return 500
  })
  response.writeHead(status, { allow: 'POST' }).end()
})
server.on('error', ({ message }) => {
  console.error(`${message}. Choose another port with WEBHOOK_PORT.`)
  process.exit(1)
})
server.listen(Number(WEBHOOK_PORT), WEBHOOK_HOST, () => {
  console.log(`listening on http://${WEBHOOK_HOST}:${server.address().port}/`)
})
