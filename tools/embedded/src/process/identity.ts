import { execFile } from 'node:child_process'
import { readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'

/** Returns the command line of a process, or undefined if it does not exist or is a zombie. */
export async function readCommandLine(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return ps(pid, 'command')
  if ((await readStat(pid)) === undefined) return undefined
  const raw = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  return raw?.replaceAll('\0', ' ').trim()
}

/**
 * Returns the start time of a process in the system's format, or undefined if the process does not exist.
 * Pids are reused over time and in each container, so only the pid and the start time together identify a
 * process.
 */
export async function readStartTime(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return ps(pid, 'lstart')
  const [stat, boot, namespace] = await Promise.all([
    readStat(pid),
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ])
  return stat && `${boot.trim()}/${namespace}/${stat.startTime}`
}

async function readStat(pid: number): Promise<{ startTime: string } | undefined> {
  const raw = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // Skips the second field, the program's name, which may contain spaces and brackets (proc(5)).
  const fields = raw?.slice(raw.lastIndexOf(')') + 2).split(' ')
  const [state, startTime] = [fields?.[0], fields?.[19]]
  return state === undefined || startTime === undefined || state === 'Z' || state === 'X'
    ? undefined
    : { startTime }
}

async function ps(pid: number, column: 'command' | 'lstart'): Promise<string | undefined> {
  const found = await promisify(execFile)('ps', ['-o', `${column}=`, '-p', String(pid)]).catch(
    () => undefined,
  )
  return found?.stdout.trim() || undefined
}
