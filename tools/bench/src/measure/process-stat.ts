import { execFileSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'

let microsecondsPerTick: number | undefined

/** Of /proc/PID/stat (proc(5)): the parent, and processor time in microseconds, own and of children that ended. */
export async function readStat(
  pid: number,
): Promise<{ parent: number; own: number; ended: number } | undefined> {
  const raw = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The second field, the program's name, may hold blanks and brackets of its own.
  const fields = raw?.slice(raw.lastIndexOf(')') + 2).split(' ')
  if (!fields) return undefined
  microsecondsPerTick ??= 1e6 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const time = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) * microsecondsPerTick!
  return { parent: Number(fields[1]), own: time(11), ended: time(13) }
}

/** The processes whose parent this one is. */
export async function childrenOf(pid: number): Promise<number[]> {
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const stats = await Promise.all(numbers.map(async (number) => ({ number, stat: await readStat(number) })))
  return stats.filter(({ stat }) => stat?.parent === pid).map(({ number }) => number)
}

/** Resident memory in bytes; 0 when it is gone. */
export async function residentBytes(pid: number): Promise<number> {
  const raw = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(raw)?.[1] ?? 0) * 1024
}
