import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory } from '@leadwire/test-kit'

const VERSION = '4.32.0'

/**
 * Finds the program schemathesis. Pip installs it once, into a virtual environment in the cache folder.
 * @returns its path, or the reason why it is not available
 */
export const findSchemathesis = (): { binary: string } | { reason: string } => {
  const folder = join(cacheDirectory(process.env), `schemathesis-${VERSION}`)
  const binary = join(folder, 'bin/schemathesis')
  const run = (program: string, ...args: string[]) =>
    spawnSync(program, args, { encoding: 'utf8', timeout: 120_000 })
  // After an interrupted installation the program exists, but its dependencies are missing.
  const works = () => existsSync(binary) && run(binary, '--version').status === 0
  if (works()) return { binary }
  if (run('python3', '-m', 'venv', '--clear', folder).status !== 0)
    return { reason: 'there is no python3 with venv' }
  run(join(folder, 'bin/python'), '-m', 'pip', 'install', '--quiet', `schemathesis==${VERSION}`)
  return works() ? { binary } : { reason: `pip could not install schemathesis ${VERSION}` }
}
