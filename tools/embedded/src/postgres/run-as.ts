import { spawnSync } from 'node:child_process'
import { stat } from 'node:fs/promises'

export type User = { uid: number; gid: number }

/** The account "nobody": in every passwd file, owner of nothing else. */
const nobody: User = { uid: 65534, gid: 65534 }

/** Where root keeps PostgreSQL's programs when the checkout lies in a folder closed to others, such as /root. */
export const openHome = '/var/lib/leadwire'

/**
 * Whom PostgreSQL runs as: it refuses root. Undefined means as whoever started us.
 * Data that exists already is used by whoever owns it.
 * @throws with what to do when the data belongs to somebody we can't become.
 */
export async function runAs(dataDirectory: string): Promise<User | undefined> {
  const own = process.getuid?.()
  const owner = await stat(dataDirectory).catch(() => undefined)
  if (own !== 0) {
    if (owner && own !== undefined && owner.uid !== own)
      throw new Error(foreign(dataDirectory, owner.uid, own))
    return undefined
  }
  if (!owner) return nobody
  if (owner.uid === 0) throw new Error(foreign(dataDirectory, 0, nobody.uid))
  return { uid: owner.uid, gid: owner.gid }
}

/**
 * The name by which another user's process, started in a folder, opens that folder: this one works where the folders above
 * are closed to that user. Linux alone has it.
 */
export function nameFor(user: User | undefined, directory: string): string {
  return user && process.platform === 'linux' ? '/proc/self/cwd' : directory
}

/** Whether `user` can run a program; asked of the kernel, so that every rule of access counts. */
export function canReach(path: string, user: User): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { ...user, cwd: '/' }).status === 0
}

function foreign(path: string, owner: number, wanted: number): string {
  return (
    `${path} belongs to user ${owner}, but PostgreSQL would run as user ${wanted}. Start as the user who made it ` +
    `(root, if a start as root made it), give it away with "chown -R ${wanted} ${path}" as root, or keep the data ` +
    'elsewhere with LEADWIRE_DATA.'
  )
}
