// The snippet's module is the first argument. Lines in: secret, body, X-SERVICE-Signature, webhook-id, webhook-timestamp
// and webhook-signature in base64 (empty when missing), then the clock in seconds; parted by tabs. Lines out: the two
// verdicts. The runners of all languages speak this.
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const { verifyService, verifyStandard } = await import(pathToFileURL(process.argv[2]).href)

for await (const line of createInterface({ input: process.stdin })) {
  const cells = line.split('\t')
  const [secret, body, service, id, timestamp, standard] = cells.slice(0, 6).map((cell, index) => {
    const bytes = Buffer.from(cell, 'base64')
    return index === 1 ? bytes : cell === '' ? undefined : bytes.toString()
  })
  const verdicts = [
    verifyService(body, service, secret),
    verifyStandard(body, id, timestamp, standard, secret, Number(cells[6])),
  ]
  console.log(verdicts.join(' '))
}
