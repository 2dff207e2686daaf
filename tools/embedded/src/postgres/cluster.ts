import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, lstat, mkdir, readlink, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { PostgresBinaries } from './binaries'
import { nameFor, type User } from './run-as'

export const superuser = 'leadwire'

/**
 * Makes a cluster at `dataDirectory` unless there is one. It is made beside and moved into place, so a start that was
 * interrupted leaves no half-made cluster. The locale is PostgreSQL's own C.UTF-8: it needs none of the system's, and
 * its order never changes with the system's. Before 17 there was only the system's.
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
  const half = `${dataDirectory}.new`
  await rm(half, { recursive: true, force: true })
  await mkdir(half, { recursive: true, mode: 0o700 })
  if (user) await chown(half, user.uid, user.gid)
  await promisify(execFile)(
    binaries.initdb,
    [
      ...['-D', nameFor(user, half), '-U', superuser, '--auth=trust', '--encoding=UTF8'],
      ...(binaries.major < 17
        ? ['--locale=C.UTF-8']
        : ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']),
      ...(durable ? [] : ['--no-sync']),
    ],
    { ...user, cwd: half, env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' } },
  )
  await rename(half, dataDirectory)
}

/** Earlier releases made such links. Nothing says which of several folders with the same link the data belongs to. */
export async function refuseLink(dataDirectory: string): Promise<void> {
  if (!(await lstat(dataDirectory).catch(() => undefined))?.isSymbolicLink()) return
  const target = resolve(dataDirectory, '..', await readlink(dataDirectory))
  throw new Error(
    `${dataDirectory} is a link to ${target}${existsSync(target) ? '' : ', which is not there'}. The data must be in the ` +
      `folder itself. If it belongs here and nothing runs on it: rm ${dataDirectory} && mv ${target} ${dataDirectory}`,
  )
}
