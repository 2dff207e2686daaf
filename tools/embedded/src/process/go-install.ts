import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findOnPath } from './find-on-path'

/** Builds a Go program into `folder`, where Go is installed. Takes up to minutes. */
export async function goInstall({
  folder,
  module,
  env,
  signal,
}: {
  folder: string
  module: string
  env: NodeJS.ProcessEnv
  signal?: AbortSignal | undefined
}): Promise<void> {
  const go = findOnPath('go', env['PATH'])
  if (!go) throw new Error('no Go here')
  await promisify(execFile)(go, ['install', module], {
    cwd: folder,
    env: { ...env, GOBIN: folder, CGO_ENABLED: '0' },
    timeout: 15 * 60_000,
    ...(signal && { signal }),
    maxBuffer: 16 * 2 ** 20,
  })
}
