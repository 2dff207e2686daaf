import { join } from 'node:path'
import { cacheDirectory } from '../paths'
import { cachedBinary, type Source } from '../process/cached-binary'
import { findOnPath } from '../process/find-on-path'
import { fromApt } from '../process/from-apt'
import { goInstall } from '../process/go-install'
import { fromRelease, natsVersion } from './release'
import { isUsable } from './version'

/**
 * Finds nats-server in PATH or the cache, or fetches it from its official release, the system's package
 * manager or the Go proxy, in this order.
 * @param say gets a line for each source that is tried
 * @throws an error with the sources that were tried and what to install
 */
export async function findNatsServer(
  env: NodeJS.ProcessEnv,
  say: (line: string) => void = () => {},
  sources: Source[] = sourcesFor(env),
): Promise<string> {
  const installed = findOnPath('nats-server', env['PATH'])
  if (installed && (await isUsable(installed))) return installed
  try {
    return await cachedBinary({ cache: cacheDirectory(env), name: 'nats-server', sources, isUsable, say })
  } catch (error) {
    throw new Error(
      'nats-server 2.9.10 or newer is required and could not be found or downloaded. Install it ' +
        '(https://nats.io/download, "apt install nats-server", "brew install nats-server") so that it is on PATH, then ' +
        `start again. Tried:\n  - PATH: ${installed ? `${installed} is too old or does not run` : 'not found'}` +
        (error instanceof Error ? error.message : String(error)),
    )
  }
}

function sourcesFor(env: NodeJS.ProcessEnv): Source[] {
  return [
    { name: `official release ${natsVersion}`, get: fromRelease },
    {
      name: 'package manager',
      get: (folder) =>
        fromApt(folder, {
          packageName: 'nats-server',
          program: 'usr/sbin/nats-server',
          path: env['PATH'],
        }),
    },
    {
      name: 'Go',
      get: async (folder) => {
        await goInstall({ folder, module: `github.com/nats-io/nats-server/v2@v${natsVersion}`, env })
        return join(folder, 'nats-server')
      },
    },
  ]
}
