import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheDirectory } from '@leadwire/test-kit'
import { ROOT } from '../chart/render.fixture'
import { type Cluster, run } from '../cluster/cluster.fixture'

/**
 * Creates a folder with the repository's `deploy`. In this folder a reader of the README runs its commands.
 */
export async function makeReader({ kubeconfig }: Cluster, folder: string) {
  await mkdir(folder)
  await symlink(join(ROOT, 'deploy'), join(folder, 'deploy'))
  const cache = cacheDirectory(process.env)
  const path = [join(cache, 'kubernetes'), cache, process.env['PATH']].join(':')
  const shell = [`--chdir=${folder}`, `KUBECONFIG=${kubeconfig}`, `PATH=${path}`, 'bash', '-euc']
  return {
    /** Runs commands and returns the lines that they print. Throws if a command fails or prints a warning. */
    type: async (commands: string): Promise<string[]> => {
      const { stdout, stderr } = await run('env', [...shell, commands])
      if (stderr) throw new Error(stderr)
      return stdout.trimEnd().split('\n')
    },
    write: (name: string, text: string) => writeFile(join(folder, name), text),
  }
}
