import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { PostgresBinaries } from './binaries'
import { nameFor, type User } from './run-as'

export const superuser = 'leadwire'

/**
 * Creates a cluster at `dataDirectory` if there is none. Creates it in another folder and renames the folder,
 * so that an interrupted start leaves no incomplete cluster. Uses PostgreSQL's built-in locale C.UTF-8, whose
 * sort order does not depend on the system. Versions before 17 have only the system's C.UTF-8.
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
      '-D',
      nameFor(user, half),
      '-U',
      superuser,
      '--auth=trust',
      '--encoding=UTF8',
      ...(binaries.major < 17
        ? ['--locale=C.UTF-8']
        : ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']),
      ...(durable ? [] : ['--no-sync']),
    ],
    { ...user, cwd: half, env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' } },
  )
  await rename(half, dataDirectory)
}
