import { randomUUID } from 'node:crypto'
import { Agent } from 'undici'
import { signHeaders } from './sign-headers'

/**
 * POSTs the same body `amount` times, signed anew each time, and records nothing. Returns webhooks a second.
 */
export const runPostLoop = async ({
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
  const postUntilDone = async () => {
    while (left > 0) {
      left -= 1
      const headers = { ...signHeaders(body), 'webhook-id': randomUUID() }
      const response = await agent.request({ origin, method: 'POST', path, headers, body })
      await response.body.dump()
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: concurrency }, postUntilDone))
  const seconds = (performance.now() - startedAt) / 1000
  await agent.close()
  return amount / seconds
}
