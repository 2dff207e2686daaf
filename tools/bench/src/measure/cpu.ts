import type { Stack } from '../stack/start-stack'
import { childrenOf, readStat } from './process-stat'

/** Microseconds of processor time by process; `postgres` is the server with all its backends. */
export type CpuTimes = Record<string, number>

/**
 * What every process of the stack has used so far; `npm start` is the one that runs the others and writes their log.
 * `others` are further processes, pids by name.
 */
export const readCpu = async (stack: Stack, others: Record<string, number> = {}): Promise<CpuTimes> => {
  const { services, pids } = await stack.readDev()
  const single: [string, number][] = [
    ...Object.entries(services).map(([name, { pid }]): [string, number] => [name, pid]),
    ['nats', pids.nats],
    ['npm start', stack.pid],
    ...Object.entries(others),
  ]
  const times = await Promise.all(
    single.map(async ([name, pid]) => [name, (await readStat(pid))?.own ?? 0] as const),
  )
  return { ...Object.fromEntries(times), postgres: await groupTime(pids.postgres) }
}

export const cpuBetween = (before: CpuTimes, after: CpuTimes): CpuTimes =>
  Object.fromEntries(
    Object.entries(after).map(([name, time]) => [name, Math.max(0, time - (before[name] ?? 0))]),
  )

const groupTime = async (pid: number): Promise<number> => {
  const [leader, ...children] = await Promise.all([pid, ...(await childrenOf(pid))].map(readStat))
  const own = children.reduce((sum, child) => sum + (child?.own ?? 0), leader?.own ?? 0)
  return own + (leader?.ended ?? 0)
}
