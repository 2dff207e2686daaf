import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, lstat, mkdir, mkdtemp, rename, rm, rmdir, symlink, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { PostgresBinaries } from './binaries'
import { canReach, openHome, type User } from './run-as'

export const superuser = 'leadwire'

/**
 * Makes a cluster at `dataDirectory` unless there is one. It is made beside and moved into place, so a start that was
 * interrupted leaves no half-made cluster. The locale is PostgreSQL's own C.UTF-8: it needs none of the system's, and
 * its order never changes with the system's.
 */
export async function ensureCluster({
  dataDirectory,
  binaries,
  user,
  durable,
}: {
  dataDirectory: string
  binaries: PostgresBinaries
  user: User | undefined
  durable: boolean
}): Promise<void> {
  if (existsSync(join(dataDirectory, 'PG_VERSION'))) return
  await mkdir(dirname(dataDirectory), { recursive: true })
  const closed = user && !canReach(dirname(dataDirectory), user)
  const target = closed ? await placeInTheOpen(dataDirectory) : dataDirectory

  const half = `${target}.new`
  await rm(half, { recursive: true, force: true })
  await mkdir(half, { mode: 0o700 })
  if (user) await chown(half, user.uid, user.gid)
  await promisify(execFile)(
    binaries.initdb,
    [
      ...['-D', half, '-U', superuser, '--auth=trust', '--encoding=UTF8'],
      ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ...(durable ? [] : ['--no-sync']),
    ],
    { ...user, cwd: half, env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' } },
  )
  await rename(half, target)
}

/**
 * A server that runs as another user can't enter a folder closed to others: the cluster then lies under openHome, and
 * `dataDirectory` is a link to it.
 */
async function placeInTheOpen(dataDirectory: string): Promise<string> {
  await mkdir(openHome, { recursive: true, mode: 0o755 })
  const room = await mkdtemp(join(openHome, 'data-'))
  // mkdtemp makes it for us alone; what is inside is the server's own, and closed to others.
  await chmod(room, 0o755)
  const target = join(room, basename(dataDirectory))
  const before = await lstat(dataDirectory).catch(() => undefined)
  if (before) await (before.isSymbolicLink() ? unlink(dataDirectory) : rmdir(dataDirectory))
  await symlink(target, dataDirectory)
  return target
}
