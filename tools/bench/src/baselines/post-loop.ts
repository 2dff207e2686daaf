import { randomUUID } from 'node:crypto'
import { Agent } from 'undici'
import { signedHeaders } from './signed-headers'

/** POSTs the same body again and again, signed anew each time; remembers nothing. Answers with webhooks a second. */
export const postLoop = async ({
  url,
  amount,
  concurrency,
  body,
}: {
  url: string
  amount: number
  concurrency: number
  body: string
}): Promise<number> => {
  const agent = new Agent({ connections: concurrency })
  const { origin, pathname: path } = new URL(url)
  let left = amount
  const work = async () => {
    while (left > 0) {
      left -= 1
      const answer = await agent.request({
        ...{ origin, method: 'POST', path, body },
        headers: { ...signedHeaders(body, 'lw_key_bench'), 'webhook-id': randomUUID() },
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
