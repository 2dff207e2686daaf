import { setTimeout as wait } from 'node:timers/promises'
import { type Connection, openConnection } from './connection'
import { type Answers, type LoadResult, type OpenLoop, wallClock } from './jobs'
import { latencyOf } from './percentiles'
import { requestBytes } from './request-bytes'

const REFERENCE = /"reference":"([^"]+)"/

/**
 * Runs one open loop; latencies count from the time a request was due. A request whose turn comes while every
 * connection is busy waits for the next that is free.
 */
export async function openLoop(job: OpenLoop): Promise<LoadResult & { answers: Answers }> {
  const requests = job.requests.map((plan) => requestBytes(plan, job.port))
  const free = await Promise.all(Array.from({ length: job.connections }, () => openConnection(job.port)))
  const all = [...free]
  const latencies: number[] = []
  const answers: Answers = { references: [], at: [] }
  const total = Math.round(job.seconds * job.perSecond)
  let bytesSent = 0

  const idle = performance.eventLoopUtilization()
  const startedAt = performance.now()
  const dueAt = (index: number) => startedAt + (index / job.perSecond) * 1000
  const send = async (connection: Connection, index: number) => {
    const request = requests[index % requests.length]!
    const answer = await connection.send(request)
    answers.at.push(wallClock())
    latencies.push(performance.now() - dueAt(index))
    bytesSent += request.length
    answers.references.push(REFERENCE.exec(answer.toString('utf8'))?.[1] ?? '')
    free.push(connection)
  }
  const sent: Promise<void>[] = []
  try {
    for (let next = 0; next < total; ) {
      while (next < total && free.length > 0 && performance.now() >= dueAt(next))
        sent.push(send(free.shift()!, next++))
      await wait(Math.max(0, Math.min(dueAt(next) - performance.now(), 5)))
    }
    await Promise.all(sent)
  } finally {
    for (const connection of all) connection.close()
  }
  const seconds = (performance.now() - startedAt) / 1000
  return {
    requests: latencies.length,
    perSecond: latencies.length / seconds,
    bytesSentPerSecond: bytesSent / seconds,
    latency: latencyOf(latencies),
    generatorBusy: performance.eventLoopUtilization(idle).utilization,
    answers,
  }
}
