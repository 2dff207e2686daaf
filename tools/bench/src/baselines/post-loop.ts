import { createHmac, randomUUID } from 'node:crypto'
import { Agent } from 'undici'
import { serveParent } from '../process/serve-parent'

type Job = { port: number; amount: number; concurrency: number; body: string }

const SECRET = 'a-secret-of-the-benchmark'

/** POSTs the same body again and again, signed anew each time; remembers nothing. Answers with webhooks a second. */
async function run({ port, amount, concurrency, body }: Job): Promise<number> {
  const agent = new Agent({ connections: concurrency })
  let left = amount
  const work = async () => {
    while (left > 0) {
      left -= 1
      const answer = await agent.request({
        origin: `http://127.0.0.1:${port}`,
        method: 'POST',
        path: '/ok',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Leadwire/bench',
          'x-service-signature': createHmac('sha1', SECRET).update(body).digest('hex'),
          'x-service-account-key': 'lw_key_bench',
          'webhook-id': randomUUID(),
        },
        body,
      })
      await answer.body.dump()
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: concurrency }, work))
  const seconds = (performance.now() - startedAt) / 1000
  await agent.close()
  return amount / seconds
}

serveParent(undefined, { run })
