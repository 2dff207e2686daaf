import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory } from '@leadwire/test-kit'

const PROGRAMS = {
  helm: { module: 'helm.sh/helm/v4/cmd/helm@v4.3.1', version: ['version', '--short'] },
  kubeconform: { module: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0', version: ['-v'] },
}

const run = (program: string, args: string[], env = process.env) =>
  spawnSync(program, args, { env, encoding: 'utf8', timeout: 600_000 })

/**
 * A program of PATH or of the cache folder, where Go builds it once, which takes minutes.
 * @returns its path, or why it can't be had
 */
export const findGoProgram = (name: keyof typeof PROGRAMS): { binary: string } | { reason: string } => {
  const { module, version } = PROGRAMS[name]
  const folder = cacheDirectory(process.env)
  const cached = join(folder, name)
  const binary = [name, cached].find((path) => run(path, version).status === 0)
  if (binary) return { binary }
  if (run('go', ['version']).status !== 0) return { reason: `there is neither ${name} nor Go` }
  run('go', ['install', module], { ...process.env, GOBIN: folder, CGO_ENABLED: '0' })
  return existsSync(cached) ? { binary: cached } : { reason: `Go could not build ${module}` }
}
