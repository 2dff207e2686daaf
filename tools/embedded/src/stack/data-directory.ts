import { existsSync } from 'node:fs'
import { access, constants, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { waitForLock } from '../process/kernel-lock.cjs'

const WAIT_MS = 15_000

/**
 * Creates the data folder if it does not exist, and locks it for this process.
 * @throws if it is a file, if this user can't write there, or if another stack uses it
 */
export async function openDataDirectory(data: string): Promise<{ release(): void }> {
  try {
    await mkdir(data, { recursive: true })
    await access(data, constants.W_OK | constants.X_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new Error(`${data} is not a folder. Set LEADWIRE_DATA to a folder.`)
    throw new Error(
      `This user can't write to ${data}. Another user may have created it, for example by a start as root. Start as ` +
        'that user, change its owner, or choose another folder with LEADWIRE_DATA.',
    )
  }
  const deadline = performance.now() + WAIT_MS
  return waitForLock(join(data, 'stack.lock'), (holder) => {
    // Waits if there is no dev.json: the other stack is then starting or stopping, and may end soon.
    if (performance.now() < deadline && !existsSync(join(data, 'dev.json'))) return
    throw new Error(
      `another stack already uses ${data} (${holder}). ` +
        'Stop it first, or use another folder and port: LEADWIRE_DATA=… PORT=… npm start',
    )
  })
}

/**
 * Locks the data folder for its servers (PostgreSQL, NATS and MinIO), which inherit the lock. A server that
 * outlived its stack still holds the lock, even in another container, where its pid and its port are not
 * visible. Waits a while for servers that are still shutting down.
 * @throws if a server continues to run
 */
export function lockServers(data: string): Promise<{ fd: number; release(): void }> {
  const deadline = performance.now() + WAIT_MS
  return waitForLock(join(data, 'servers.lock'), (holder) => {
    if (performance.now() < deadline) return
    throw new Error(
      `PostgreSQL, NATS or MinIO still runs on ${data}, although the stack that started it has ended (${holder}). ` +
        'Stop this server first, in the container where it runs.',
    )
  })
}
