import { type Connection, openConnection } from './connection'
import type { ClosedLoop, LoadResult } from './jobs'
import { latencyOf } from './percentiles'
import { requestBytes } from './request-bytes'

/** Runs one closed loop. Rejects when any request fails. */
export async function closedLoop(job: ClosedLoop): Promise<LoadResult> {
  const requests = job.requests.map((plan) => requestBytes(plan, job.port))
  const connections = await Promise.all(
    Array.from({ length: job.connections }, () => openConnection(job.port)),
  )
  const latencies: number[] = []
  let left = job.amount ?? Number.POSITIVE_INFINITY
  let bytesSent = 0

  const idle = performance.eventLoopUtilization()
  const startedAt = performance.now()
  const deadline = startedAt + job.seconds * 1000
  const work = async (connection: Connection) => {
    let now = performance.now()
    while (now < deadline && left > 0) {
      left -= 1
      const request = requests[Math.floor(Math.random() * requests.length)]!
      await connection.send(request)
      const answeredAt = performance.now()
      latencies.push(answeredAt - now)
      bytesSent += request.length
      now = answeredAt
    }
  }
  try {
    await Promise.all(connections.map(work))
  } finally {
    for (const connection of connections) connection.close()
  }
  const seconds = (performance.now() - startedAt) / 1000
  return {
    requests: latencies.length,
    perSecond: latencies.length / seconds,
    bytesSentPerSecond: bytesSent / seconds,
    latency: latencyOf(latencies),
    generatorBusy: performance.eventLoopUtilization(idle).utilization,
  }
}
