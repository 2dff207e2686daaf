import { execFile } from 'node:child_process'
import { readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'

/** What a process was started with; undefined when there is no such process (or only its remains). */
export async function commandLineOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return ps(pid, 'command')
  if ((await statOf(pid)) === undefined) return undefined
  const raw = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  return raw?.replaceAll('\0', ' ').trim()
}

/**
 * When a process started, in the system's own words; undefined when there is no such process. A number is given again
 * after a while, and in each container, so only number and start together identify the process that was meant.
 */
export async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return ps(pid, 'lstart')
  const [stat, boot, namespace] = await Promise.all([
    statOf(pid),
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ])
  return stat && `${boot.trim()}/${namespace}/${stat.startTime}`
}

async function statOf(pid: number): Promise<{ startTime: string } | undefined> {
  const raw = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The second field, the program's name, may hold blanks and brackets of its own (proc(5)).
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
