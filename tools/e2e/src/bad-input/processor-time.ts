import { readFile } from 'node:fs/promises'

// USER_HZ, the unit of /proc: 100 on every architecture Linux has today.
const TICK_MS = 10

/**
 * How long a process computed while `work` ran, in milliseconds: what a request costs, however busy the machine is.
 * Undefined where there is no /proc.
 */
export const processorTimeOf = async <T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ result: T; ms: number | undefined }> => {
  const before = await processorTime(pid)
  const result = await work()
  const after = await processorTime(pid)
  return { result, ms: before === undefined || after === undefined ? undefined : after - before }
}

/** How long a process has computed so far. */
export const processorTime = async (pid: number): Promise<number | undefined> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The second field, the program's name, may hold blanks and brackets of its own (proc(5)).
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields && (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
