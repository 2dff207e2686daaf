import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { cacheDirectory } from '../paths'
import { cachedBinary } from '../process/cached-binary'
import { findOnPath } from '../process/find-on-path'
import { fromApt } from '../process/from-apt'

const runs = (binary: string): Promise<boolean> =>
  promisify(execFile)(binary, ['--version'], { timeout: 20_000 }).then(
    () => true,
    () => false,
  )

/**
 * Prometheus or its promtool, from PATH, the cache or the system's package manager, in that order.
 * @throws with why it can't be had
 */
export async function findPrometheus(
  name: 'prometheus' | 'promtool',
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const installed = findOnPath(name, env['PATH'])
  if (installed) return installed
  const get = (folder: string) =>
    fromApt(folder, { packageName: 'prometheus', program: `usr/bin/${name}`, path: env['PATH'] })
  const sources = [{ name: 'package manager', get }]
  return cachedBinary({ cache: cacheDirectory(env), name, sources, isUsable: runs, say: () => {} })
}
