import type { Stack } from '../stack/start-stack'
import { childrenOf, readStat } from './process-stat'

/** Microseconds of processor time by process; `postgres` is the server with all its backends. */
export type CpuTimes = Record<string, number>

/** What every process of the stack has used so far, and those of `others`. */
export async function readCpu(stack: Stack, others: Record<string, number> = {}): Promise<CpuTimes> {
  const { services, pids } = await stack.readDev()
  const single = { ...pidsOf(services), nats: pids.nats, 'npm start': stack.pid, ...others }
  const times = await Promise.all(
    Object.entries(single).map(async ([name, pid]) => [name, (await readStat(pid))?.own ?? 0] as const),
  )
  return { ...Object.fromEntries(times), postgres: await groupTime(pids.postgres) }
}

export function pidsOf(services: Record<string, { pid: number }>): Record<string, number> {
  return Object.fromEntries(Object.entries(services).map(([name, { pid }]) => [name, pid]))
}

export function cpuBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return Object.fromEntries(
    Object.entries(after).map(([name, time]) => [name, Math.max(0, time - (before[name] ?? 0))]),
  )
}

async function groupTime(pid: number): Promise<number> {
  const [leader, ...children] = await Promise.all([pid, ...(await childrenOf(pid))].map(readStat))
  const own = children.reduce((sum, child) => sum + (child?.own ?? 0), leader?.own ?? 0)
  return own + (leader?.ended ?? 0)
}
