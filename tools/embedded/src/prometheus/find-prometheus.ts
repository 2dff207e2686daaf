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
 * Finds Prometheus or its promtool in PATH or the cache, or fetches it with the system's package manager, in
 * this order.
 * @throws an error with the reasons if it can't be found or fetched
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
