import { execFileSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'

export interface ProcessStat {
  parent: number
  /** Processor time of the process, in microseconds. */
  own: number
  /** Processor time of its children that have ended, in microseconds. */
  ended: number
}

let microsecondsPerTick: number | undefined

/** Reads /proc/PID/stat (proc(5)). Returns undefined if the process has ended. */
export const readStat = async (pid: number): Promise<ProcessStat | undefined> => {
  const raw = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // Splits after the second field, the program's name, because a name may contain spaces and brackets.
  const fields = raw?.slice(raw.lastIndexOf(')') + 2).split(' ')
  if (!fields) return undefined
  microsecondsPerTick ??= 1e6 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const time = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) * microsecondsPerTick!
  return { parent: Number(fields[1]), own: time(11), ended: time(13) }
}

/** Lists the process ids of a process's children. */
export const listChildren = async (pid: number): Promise<number[]> => {
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const stats = await Promise.all(numbers.map(async (number) => ({ number, stat: await readStat(number) })))
  return stats.filter(({ stat }) => stat?.parent === pid).map(({ number }) => number)
}

/** Returns the resident memory (VmRSS) in bytes, or 0 if the process has ended. */
export const readResidentBytes = async (pid: number): Promise<number> => {
  const raw = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(raw)?.[1] ?? 0) * 1024
}
