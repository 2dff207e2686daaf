import { readFile } from 'node:fs/promises'
import type { Child } from '@leadwire/embedded'

/** What a spec does to a server. */
export type Hardship = {
  /** kill -9: what clients see when it crashes. */
  kill(): Promise<void>
  /** Stops it where it stands, until `thaw`: its connections stay, and nothing is answered. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** Starts it again at the same address, over the store it had; asks it to stop before, where it runs. */
  restart(): Promise<void>
}

/** Hardship for a process that `start` starts. `current` is the one that runs now. */
export function hardship({ start, current }: { start: () => Promise<void>; current: () => Child }): Hardship {
  return {
    kill: async () => {
      current().kill('SIGKILL')
      await current().exited
    },
    freeze: async () => {
      // The parent first: it starts no others then.
      signal([current().pid], 'SIGSTOP')
      signal(await childrenOf(current().pid), 'SIGSTOP')
    },
    thaw: async () => thaw(current()),
    restart: async () => {
      if (!current().hasExited()) await current().stop()
      await start()
    },
  }
}

export async function thaw({ pid }: Child): Promise<void> {
  signal([...(await childrenOf(pid)), pid], 'SIGCONT')
}

/** The processes that a process has started, as PostgreSQL does for each connection; none where there is no /proc. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.split(' ').filter(Boolean).map(Number)
}

// One may have ended in this moment.
function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
}
