import { isDeepStrictEqual } from 'node:util'
import type { RequestPlan } from '../load/jobs'

/**
 * Makes sure that a baseline does the same work: its answer to a request must be ours, page addresses aside.
 * @throws when it isn't
 */
export async function requireSameAnswer(request: RequestPlan, ours: number, baseline: number): Promise<void> {
  const [one, other] = await Promise.all([ours, baseline].map((port) => answerOf(request, port)))
  if (!isDeepStrictEqual(one, other))
    throw new Error(
      `the baseline answers ${request.path} otherwise:\n${JSON.stringify(one)}\n${JSON.stringify(other)}`,
    )
}

async function answerOf({ method, path, headers = {} }: RequestPlan, port: number): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status} ${await answer.text()}`)
  const json = (await answer.json()) as Record<string, unknown>
  const isAddress = (name: string) => name === 'path' || name.endsWith('_page_url')
  return Object.fromEntries(Object.entries(json).filter(([name]) => !isAddress(name)))
}
