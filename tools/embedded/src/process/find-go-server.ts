import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDirectory } from '../paths'
import { cachedBinary } from './cached-binary'
import { findOnPath } from './find-on-path'
import type { GoBuild } from './go-install'

/** A server that Go can build from its module. */
export type GoServer = {
  /** The name of the server in messages. */
  title: string
  /** The program's name on PATH and in the cache. */
  program: string
  /** The Go module of the program, with its version. */
  module: string
  /** Builds the program: `goInstall`, or `goBuild` with the directory of its package. */
  build: (options: GoBuild) => Promise<void>
  /** The setting that names the program. */
  setting: string
  /** The arguments with which the program prints its version. */
  versionArgs: string[]
}

export type FindOptions = { build?: boolean; say?: (line: string) => void; signal?: AbortSignal }

/**
 * Returns the path of a server's program. Searches the setting that names the program, then PATH, then the
 * cache. If none of these has the program and `build` is true, Go builds it into the cache. The build takes
 * minutes, and later calls find its result in the cache.
 * @throws an error with the reasons if no program is found
 */
export async function findGoServer(
  server: GoServer,
  env: NodeJS.ProcessEnv,
  { build = true, say = () => {}, signal }: FindOptions = {},
): Promise<string> {
  const { title, program, setting, versionArgs } = server
  const chosen = env[setting]
  if (chosen && !existsSync(chosen)) throw new Error(`${setting}: the program ${chosen} does not exist`)
  const installed = chosen || findOnPath(program, env['PATH'])
  if (installed) return installed
  const withGo = {
    name: `Go builds ${server.module}, which takes minutes`,
    get: async (folder: string) => {
      await server.build({ folder, module: server.module, env, signal })
      return join(folder, program)
    },
  }
  const printsVersion = (binary: string) =>
    promisify(execFile)(binary, versionArgs, { timeout: 20_000 }).then(
      () => true,
      () => false,
    )
  try {
    return await cachedBinary({
      cache: cacheDirectory(env),
      name: program,
      sources: build ? [withGo] : [],
      isUsable: printsVersion,
      say,
    })
  } catch (error) {
    const reasons = error instanceof Error ? error.message : String(error)
    throw new Error(
      `${title} was not found. Set ${setting} to its program, or put the program on PATH. Tried:` +
        `\n  - ${setting} and PATH: not found${reasons}`,
    )
  }
}
