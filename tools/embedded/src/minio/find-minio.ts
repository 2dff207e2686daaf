import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDirectory } from '../paths'
import { cachedBinary } from '../process/cached-binary'
import { findOnPath } from '../process/find-on-path'
import { goInstall } from '../process/go-install'

/**
 * MinIO's server: MINIO_BIN, PATH, the cache, or, with `build`, made with Go into the cache (minutes, once), in that
 * order.
 * @throws with why it can't be had
 */
export async function findMinio(
  env: NodeJS.ProcessEnv,
  {
    build = true,
    say = () => {},
    signal,
  }: { build?: boolean; say?: (line: string) => void; signal?: AbortSignal } = {},
): Promise<string> {
  const chosen = env['MINIO_BIN']
  if (chosen && !existsSync(chosen)) throw new Error(`MINIO_BIN: there is no program ${chosen}`)
  const installed = chosen || findOnPath('minio', env['PATH'])
  if (installed) return installed
  const withGo = {
    name: 'go install github.com/minio/minio@latest, which takes minutes',
    get: async (folder: string) => {
      await goInstall({ folder, module: 'github.com/minio/minio@latest', env, signal })
      return join(folder, 'minio')
    },
  }
  try {
    return await cachedBinary({
      cache: cacheDirectory(env),
      name: 'minio',
      sources: build ? [withGo] : [],
      isUsable: runs,
      say,
    })
  } catch (error) {
    throw new Error(
      'MinIO could not be had. Set MINIO_BIN to its server, or put it on PATH. Tried:' +
        `\n  - MINIO_BIN and PATH: not there${error instanceof Error ? error.message : error}`,
    )
  }
}

async function runs(binary: string): Promise<boolean> {
  return promisify(execFile)(binary, ['--version'], { timeout: 20_000 }).then(
    () => true,
    () => false,
  )
}
