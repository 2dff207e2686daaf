import { spawnSync } from 'node:child_process'
import { stat } from 'node:fs/promises'

export type User = { uid: number; gid: number }

/** The user with the id 65534 exists on every system, and owns no files besides those of PostgreSQL. */
const nobody: User = { uid: 65534, gid: 65534 }

/**
 * The folder for PostgreSQL's programs if root starts a checkout that other users can't read, such as one in
 * /root.
 */
export const openHome = '/var/lib/leadwire'

/**
 * Returns the user that PostgreSQL must run as, or undefined for the current user. PostgreSQL refuses to run
 * as root. If the data folder exists, PostgreSQL runs as the owner of the folder.
 * @throws an error that says what to do if the data belongs to a user that this process can't switch to
 */
export async function runAs(dataDirectory: string): Promise<User | undefined> {
  const own = process.getuid?.()
  const owner = await stat(dataDirectory).catch(() => undefined)
  if (own !== 0) {
    if (owner && own !== undefined && owner.uid !== own)
      throw new Error(describeOwner(dataDirectory, owner.uid, own))
    return undefined
  }
  if (!owner) return nobody
  if (owner.uid === 0) throw new Error(describeOwner(dataDirectory, 0, nobody.uid))
  return { uid: owner.uid, gid: owner.gid }
}

/**
 * Returns a path of `directory` for a process that runs as `user` and whose working folder is `directory`. On
 * Linux the path works even if `user` can't read the parent folders.
 */
export function nameFor(user: User | undefined, directory: string): string {
  return user && process.platform === 'linux' ? '/proc/self/cwd' : directory
}

/** Whether `user` can run a program. Asks the kernel, so that all access rules count. */
export function canReach(path: string, user: User): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { ...user, cwd: '/' }).status === 0
}

function describeOwner(path: string, owner: number, wanted: number): string {
  return (
    `${path} belongs to user ${owner}, but PostgreSQL would run as user ${wanted}. Start as the user who created it ` +
    `(root, if it was created by a start as root), change its owner as root with "chown -R ${wanted} ${path}", or ` +
    'choose another folder with LEADWIRE_DATA.'
  )
}
