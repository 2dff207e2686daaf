import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDirectory, cachedBinary } from '@leadwire/test-kit'
import { findPreviousRelease } from '../../../previous-release.cjs'

const ROOT = join(__dirname, '../../../..')
const { version, commit } = findPreviousRelease(ROOT)
const run = promisify(execFile)
const LIMITS = { maxBuffer: 64 * 2 ** 20, timeout: 900_000 }

/** The time limit for the build of the previous release. The build runs once, and its result is cached. */
export const BUILT_WITHIN_MS = 900_000

/**
 * Returns `describe`, or `describe.skip` if there is no previous release or this clone does not have its
 * commit.
 */
export const describeUpgrade = (): jest.Describe => {
  if (commit === null) {
    console.warn('SKIPPED: the specs of upgrades. There is no previous release')
    return describe.skip
  }
  const found = spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT, encoding: 'utf8' })
  if (found.status === 0) return describe
  const why = found.error?.message ?? found.stderr.trim().split('\n')[0]
  console.warn(`SKIPPED: the specs of upgrades from ${version}. This clone does not have its commit (${why})`)
  return describe.skip
}

const build = async (folder: string): Promise<string> => {
  const root = join(folder, 'release')
  await mkdir(root)
  const archive = join(folder, 'release.tar')
  await run('git', ['archive', '--output', archive, commit!], { cwd: ROOT })
  await run('tar', ['-xf', archive, '-C', root])
  const env = { ...process.env, NX_DAEMON: 'false', NX_TUI: 'false', NX_CACHE_DIRECTORY: join(folder, 'nx') }
  const options = { ...LIMITS, cwd: root, env }
  await run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], options)
  const unused = ['--exclude', 'bench,crash-test,e2e']
  await run(process.execPath, ['node_modules/.bin/nx', 'run-many', '-t', 'build', ...unused], options)
  return root
}

/**
 * Returns the folder with the built previous release. Builds it from the repository's history if it is not
 * cached.
 */
export const previousRelease = (): Promise<string> =>
  cachedBinary({
    cache: cacheDirectory(process.env),
    name: `release-${commit}`,
    sources: [{ name: 'git archive, npm ci and the build, which takes a minute', get: build }],
    isUsable: async (root) => existsSync(join(root, 'apps/gateway/dist/main.js')),
    say: console.warn,
  })
