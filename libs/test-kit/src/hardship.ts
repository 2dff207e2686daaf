import { readFile } from 'node:fs/promises'
import type { Child } from '@leadwire/embedded'

/** The ways in which a spec disturbs a server. */
export type Hardship = {
  /** Kills the server with SIGKILL, as in a crash. */
  kill(): Promise<void>
  /** Suspends the server until `thaw`. Its connections stay open, and it responds to nothing. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** Stops the server if it runs, and starts it again at the same address with the same data. */
  restart(): Promise<void>
}

/**
 * Returns the functions that disturb a server. `start` starts the server. `current` returns the latest
 * process of the server.
 */
export function hardship({ start, current }: { start: () => Promise<void>; current: () => Child }): Hardship {
  return {
    kill: async () => {
      current().kill('SIGKILL')
      await current().exited
    },
    freeze: async () => {
      // Suspends the parent first, so that it starts no further children.
      signal([current().pid], 'SIGSTOP')
      signal(await listChildren(current().pid), 'SIGSTOP')
    },
    thaw: async () => thaw(current()),
    restart: async () => {
      if (!current().hasExited()) await current().stop()
      await start()
    },
  }
}

export async function thaw({ pid }: Child): Promise<void> {
  signal([...(await listChildren(pid)), pid], 'SIGCONT')
}

/**
 * Lists the children of a process: PostgreSQL, for example, has one for each connection. Returns none if the
 * system has no /proc.
 */
async function listChildren(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.split(' ').filter(Boolean).map(Number)
}

// Sends a signal to processes. Ignores a process that has just ended.
function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
}
