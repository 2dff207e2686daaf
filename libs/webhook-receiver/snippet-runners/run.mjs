// A receiver around the snippet at SNIPPET, on PORT. It reads the body as docs/guides/receiving-webhooks.md says. The header `cells` has
// in base64, parted by commas: the secret, X-SERVICE-Signature, webhook-id, webhook-timestamp, webhook-signature (each
// empty when missing) and the clock in seconds. The response has the two verdicts. The runners of all languages speak this.
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
