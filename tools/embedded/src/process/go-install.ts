import { execFile } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findOnPath } from './find-on-path'

const run = promisify(execFile)

export type GoBuild = {
  /** The folder that gets the program. */
  folder: string
  /** The Go package of the program and its version, such as `github.com/minio/minio@latest`. */
  module: string
  env: NodeJS.ProcessEnv
  signal?: AbortSignal | undefined
}

/** Builds a Go program into `folder`. May take minutes. Throws if Go is not installed. */
export async function goInstall({ folder, module, env, signal }: GoBuild): Promise<void> {
  await run(findGo(env), ['install', module], limits({ folder, env, signal }))
}

/**
 * Builds the package in `directory` of a module into `folder`. Modules that replace their own dependencies
 * need this, because `go install` rejects them.
 */
export async function goBuild({
  folder,
  module,
  directory,
  env,
  signal,
}: GoBuild & { directory: string }): Promise<void> {
  const go = findGo(env)
  const options = limits({ folder, env, signal })
  const { stdout } = await run(go, ['mod', 'download', '-json', module], options)
  const { Dir: downloaded } = JSON.parse(stdout) as { Dir: string }
  // Copies the module, because Go's copy is read-only and a build may write to it.
  const source = join(folder, 'source')
  await cp(downloaded, source, { recursive: true })
  await run('chmod', ['-R', 'u+w', source])
  try {
    await run(go, ['build', '-o', folder, `./${directory}`], { ...options, cwd: source })
  } finally {
    await rm(source, { recursive: true })
  }
}

function findGo(env: NodeJS.ProcessEnv): string {
  const go = findOnPath('go', env['PATH'])
  if (!go) throw new Error('Go is not installed')
  return go
}

function limits({ folder, env, signal }: Pick<GoBuild, 'folder' | 'env' | 'signal'>) {
  return {
    cwd: folder,
    env: { ...env, GOBIN: folder, CGO_ENABLED: '0' },
    timeout: 30 * 60_000,
    maxBuffer: 16 * 2 ** 20,
    ...(signal && { signal }),
  }
}
