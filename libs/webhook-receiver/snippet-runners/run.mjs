// A receiver on PORT that uses the snippet at SNIPPET. Reads the body in the way that
// docs/guides/receiving-webhooks.md describes.
//
// The request's header `cells` has these values in base64, separated by commas: the secret,
// X-SERVICE-Signature, webhook-id, webhook-timestamp, webhook-signature (each empty if missing) and the clock
// in seconds. The response has two verdicts, true or false: for X-SERVICE-Signature, and for
// webhook-signature. The runners of all languages use this protocol.
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const { verifyService, verifyStandard } = await import(pathToFileURL(process.env.SNIPPET).href)

const read = async (request) => {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size <= 8 << 20) chunks.push(chunk)
  }
  return size <= 8 << 20 ? Buffer.concat(chunks) : undefined
}

createServer(async (request, response) => {
  const body = await read(request).catch(() => undefined)
  if (!body) return response.writeHead(413).end()
  const [secret, service, id, timestamp, standard, now] = request.headers.cells
    .split(',')
    .map((cell) => Buffer.from(cell, 'base64').toString() || undefined)
  const verdicts = [
    verifyService(body, service, secret),
    verifyStandard(body, id, timestamp, standard, secret, Number(now)),
  ]
  response.end(verdicts.join(' '))
}).listen(process.env.PORT, '127.0.0.1')
