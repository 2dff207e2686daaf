import { readFile } from 'node:fs/promises'

/** Returns the child processes of a process, such as PostgreSQL's backends. Returns none without /proc. */
export const listChildren = async (pid: number): Promise<number[]> => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.split(' ').filter(Boolean).map(Number)
}

/** Sends a signal to processes. Ignores processes that have ended. */
export const signal = (pids: number[], name: NodeJS.Signals): void => {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
}
