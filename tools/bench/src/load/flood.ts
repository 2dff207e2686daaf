import autocannon, { type Request } from 'autocannon'

export interface FloodResult {
  /** How many were answered 2xx. */
  requests: number
  refused: number
  perSecond: number
  /** Milliseconds of the slowest answer. */
  slowest: number
}

/**
 * Loads a server from connections that send again as soon as they are answered. Rejects when an answer is neither a success nor
 * a 503, or when there is none.
 */
export const flood = async (options: {
  port: number
  connections: number
  request: Request
  seconds: number
}): Promise<FloodResult> => {
  const { port, connections, request, seconds } = options
  const result = await autocannon({
    ...{ url: `http://127.0.0.1:${port}`, connections, duration: seconds, timeout: 20 },
    requests: [request],
  })
  const { errors, statusCodeStats = {} } = result
  const { 503: refusals, ...others } = statusCodeStats as Record<string, { count: number }>
  const bad = Object.entries(others).filter(([status]) => !status.startsWith('2'))
  if (errors > 0 || bad.length > 0)
    throw new Error(`${request.path}: ${errors} requests failed; ${JSON.stringify(Object.fromEntries(bad))}`)
  const requests = result['2xx']
  const { duration, latency } = result
  return {
    ...{ requests, refused: refusals?.count ?? 0, perSecond: requests / duration, slowest: latency.max },
  }
}
