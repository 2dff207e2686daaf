import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readCommandLine } from '../process/identity'
import { poll } from '../process/poll'
import { sendSignal } from '../process/send-signal'

/**
 * Returns options that put the path of the data folder into a server's command line, where a later start
 * finds it. The option -D is not enough, because its path may be another name of the folder (nameFor).
 */
export const renderCommandLineMark = (dataDirectory: string) => ['-c', `leadwire.data=${dataDirectory}`]

/**
 * Removes the remains of a server that was not stopped properly. The caller must hold the lock over the data.
 * Stops a postmaster that outlived its parent. Removes a postmaster.pid whose number now belongs to another
 * program, because PostgreSQL would refuse to start. After a restart of the machine or container, another
 * program may have this number.
 */
export async function clearStaleServer(dataDirectory: string): Promise<void> {
  const path = join(dataDirectory, 'postmaster.pid')
  const pid = Number((await readFile(path, 'utf8').catch(() => '')).split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0) return
  const running = await readCommandLine(pid)
  if (running === undefined) return
  if (!running.includes(`${renderCommandLineMark(dataDirectory).join(' ')} `))
    return rm(path, { force: true })
  sendSignal(pid, 'SIGINT')
  await poll(async () => (await readCommandLine(pid)) === undefined, {
    what: `the PostgreSQL server of an earlier start (pid ${pid}) to stop`,
    timeoutMs: 15_000,
  })
}
