import type { Stack } from '../stack/start-stack'
import { listChildren, readStat } from './process-stat'

/** Microseconds of processor time by process. `postgres` is the server with all its backends. */
export type CpuTimes = Record<string, number>

/**
 * Returns the processor time that each process of the stack has used so far. The entry `npm start` is the
 * process that runs all others and writes their log.
 */
export const readCpu = async (stack: Stack): Promise<CpuTimes> => {
  const { services, pids } = await stack.readDev()
  const times: CpuTimes = {}
  for (const [name, { pid }] of Object.entries(services)) times[name] = await readOwnTime(pid)
  times['nats'] = await readOwnTime(pids.nats)
  times['npm start'] = await readOwnTime(stack.pid)
  times['postgres'] = await readGroupTime(pids.postgres)
  return times
}

export const subtractCpu = (after: CpuTimes, before: CpuTimes): CpuTimes =>
  Object.fromEntries(
    Object.entries(after).map(([name, time]) => [name, Math.max(0, time - (before[name] ?? 0))]),
  )

const readOwnTime = async (pid: number): Promise<number> => (await readStat(pid))?.own ?? 0

const readGroupTime = async (pid: number): Promise<number> => {
  const [leader, ...children] = await Promise.all([pid, ...(await listChildren(pid))].map(readStat))
  const own = children.reduce((sum, child) => sum + (child?.own ?? 0), leader?.own ?? 0)
  return own + (leader?.ended ?? 0)
}
