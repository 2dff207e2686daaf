// A webhook receiver: verifies the signature over the raw body, then answers 200. No dependencies.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const secret = process.env.WEBHOOK_SECRET
const port = Number(process.env.WEBHOOK_PORT ?? 4400)
const host = process.env.WEBHOOK_HOST ?? '127.0.0.1'
if (!secret) throw new Error('set WEBHOOK_SECRET to the secret of the endpoint')

const verified = (rawBody, signature) => {
  const expected = Buffer.from(createHmac('sha1', secret).update(rawBody).digest('hex'))
  const given = Buffer.from(String(signature))
  return given.length === expected.length && timingSafeEqual(given, expected)
}

const server = createServer((request, response) => {
  // Somebody who looks whether it listens.
  if (request.method !== 'POST') {
    response.writeHead(405, { allow: 'POST' }).end()
    return
  }
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    // The bytes as they came: parsing and printing them again would change them, and the signature with them.
    const rawBody = Buffer.concat(chunks)
    if (!verified(rawBody, request.headers['x-service-signature'])) {
      console.log('refused: the signature does not match')
      response.writeHead(401).end()
      return
    }
    const { data: lead } = JSON.parse(rawBody)
    console.log(`verified: lead ${lead.reference} from ${lead.customer.name}`)
    response.writeHead(200).end()
  })
})
server.on('error', (error) => {
  console.error(`can't listen on port ${port}: ${error.message}. Choose another with WEBHOOK_PORT.`)
  process.exit(1)
})
server.listen(port, host, () => console.log(`receiving on http://${host}:${port}/`))
