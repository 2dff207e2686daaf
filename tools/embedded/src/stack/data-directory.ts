import { existsSync } from 'node:fs'
import { access, constants, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type PidLock, takePidLock } from '../process/pid-lock'

/**
 * Makes the data folder if there is none, and takes it for this process.
 * @throws when this user can't write there, and when another stack runs on it
 */
export async function openDataDirectory(data: string): Promise<PidLock> {
  try {
    await mkdir(data, { recursive: true })
    await access(data, constants.W_OK | constants.X_OK)
  } catch {
    throw new Error(
      `${data} can't be written by this user. Was it made by another one (a start as root, say)? ` +
        'Start as that user, change its owner, or keep the data elsewhere with LEADWIRE_DATA.',
    )
  }
  return lock(data)
}

async function lock(data: string): Promise<PidLock> {
  // Without a dev.json the other one is still starting or already stopping: a moment later it may be gone.
  for (let triesLeft = 150; ; triesLeft--) {
    const taken = await takePidLock(join(data, 'stack.lock'))
    if ('release' in taken) return taken
    if (triesLeft === 0 || existsSync(join(data, 'dev.json'))) {
      throw new Error(
        `a stack runs on ${data} already (pid ${taken.heldBy}). ` +
          'Stop it first, or start this one on another folder: LEADWIRE_DATA=… PORT=… npm start',
      )
    }
    await wait(100)
  }
}
