import { existsSync } from 'node:fs'
import { access, constants, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { waitForLock } from '../process/kernel-lock.cjs'

const WAIT_MS = 15_000

/**
 * Makes the data folder if there is none, and takes it for this process.
 * @throws when it is a file, when this user can't write there, and when another stack runs on it
 */
export async function openDataDirectory(data: string): Promise<{ release(): void }> {
  try {
    await mkdir(data, { recursive: true })
    await access(data, constants.W_OK | constants.X_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new Error(`${data} is not a folder. Name one with LEADWIRE_DATA.`)
    throw new Error(
      `${data} can't be written by this user. Was it made by another one (a start as root, say)? ` +
        'Start as that user, change its owner, or keep the data elsewhere with LEADWIRE_DATA.',
    )
  }
  const deadline = performance.now() + WAIT_MS
  return waitForLock(join(data, 'stack.lock'), (holder) => {
    // Without a dev.json the other one is still starting or already stopping: a moment later it may be gone.
    if (performance.now() < deadline && !existsSync(join(data, 'dev.json'))) return
    throw new Error(
      `a stack runs on ${data} already (${holder}). ` +
        'Stop it first, or start this one on another folder: LEADWIRE_DATA=… PORT=… npm start',
    )
  })
}

/**
 * Takes the lock that the servers over the data have too: one that outlived its stack has it still, and in another container
 * neither its pid nor its port can be seen from here. Those that die with their stack need a moment for it.
 * @throws when one goes on
 */
export function lockServers(data: string): Promise<{ fd: number; release(): void }> {
  const deadline = performance.now() + WAIT_MS
  return waitForLock(join(data, 'servers.lock'), (holder) => {
    if (performance.now() < deadline) return
    throw new Error(
      `PostgreSQL, NATS or MinIO still runs on ${data}, though the stack that started it is gone (${holder}). ` +
        'End it first, in the container where it runs.',
    )
  })
}
