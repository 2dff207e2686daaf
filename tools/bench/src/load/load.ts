import autocannon, { type Request } from 'autocannon'
import { percentile, sorted } from '../measure/statistics'

export interface Load {
  port: number
  connections: number
  /** Each connection sends some of these, drawn at random, in turn. */
  requests: Request[]
  seconds: number
  /** So many requests instead of so many seconds. */
  amount?: number
}

export interface LoadResult {
  requests: number
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
}

/** How many requests a connection repeats. */
const DRAWN = 100

const draw = (requests: Request[]): Request[] =>
  Array.from({ length: Math.min(DRAWN, requests.length) }, () => ({
    ...requests[Math.floor(Math.random() * requests.length)]!,
  }))

/** Loads a server from connections with one request under way each. Rejects when any request fails. */
export const load = async ({ port, connections, requests, seconds, amount }: Load): Promise<LoadResult> => {
  const latencies: number[] = []
  let lastAt = 0
  const startedAt = performance.now()
  const result = await autocannon({
    ...{ url: `http://127.0.0.1:${port}`, connections, duration: seconds, timeout: 60, sampleInt: 100 },
    ...(amount !== undefined && { amount }),
    setupClient: (client) => {
      client.setRequests(draw(requests))
      // autocannon's own histogram has whole milliseconds.
      client.on('response', (_status, _bytes, milliseconds) => {
        latencies.push(milliseconds)
        lastAt = performance.now()
      })
    },
  })
  if (result.non2xx + result.errors > 0 || latencies.length === 0)
    throw new Error(
      `${requests[0]!.path}: ${result.non2xx} answers were no success, ${result.errors} requests failed, ${latencies.length} were answered`,
    )
  const inOrder = sorted(latencies)
  return {
    requests: latencies.length,
    perSecond: (latencies.length / (lastAt - startedAt)) * 1000,
    p50: percentile(inOrder, 0.5),
    p99: percentile(inOrder, 0.99),
  }
}
