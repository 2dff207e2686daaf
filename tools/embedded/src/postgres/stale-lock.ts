import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { commandLineOf } from '../process/identity'
import { poll } from '../process/poll'

/** What a server's command line says of its data folder, whose name its own options may not have (see nameFor). */
export const commandLineMark = (dataDirectory: string) => ['-c', `leadwire.data=${dataDirectory}`]

/**
 * Clears what a server that was not stopped left behind. Call it only where nobody else may run one over this data.
 * A postmaster that outlived its parent is stopped; a postmaster.pid whose number now belongs to another program, as
 * happens after a restart of the machine or container, is removed: PostgreSQL itself would refuse to start over it.
 */
export async function clearStaleServer(dataDirectory: string): Promise<void> {
  const path = join(dataDirectory, 'postmaster.pid')
  const pid = Number((await readFile(path, 'utf8').catch(() => '')).split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0) return
  const running = await commandLineOf(pid)
  if (running === undefined) return
  if (!running.includes(`${commandLineMark(dataDirectory).join(' ')} `)) return rm(path, { force: true })
  process.kill(pid, 'SIGINT')
  await poll(async () => (await commandLineOf(pid)) === undefined, {
    what: `the PostgreSQL server left over from before (pid ${pid}) to stop`,
    timeoutMs: 15_000,
  })
}
