import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { cacheDirectory } from '@leadwire/test-kit'

const VERSION = { helm: ['version', '--short'], kubeconform: ['-v'], actionlint: ['-version'] }

/**
 * Finds a program on PATH, or in the cache folder into which `tools/e2e/install-chart-programs.sh` builds it.
 * @returns its name or path, or the reason why it is not available
 */
export const findProgram = (name: keyof typeof VERSION): { binary: string } | { reason: string } => {
  const binary = [name, join(cacheDirectory(process.env), name)].find(
    (path) => spawnSync(path, VERSION[name]).status === 0,
  )
  return binary ? { binary } : { reason: `there is no ${name}: run tools/e2e/install-chart-programs.sh` }
}
