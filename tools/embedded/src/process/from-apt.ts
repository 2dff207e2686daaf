import { execFile } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findOnPath } from './find-on-path'

const run = promisify(execFile)
const shortTimeouts = ['Acquire::http::Timeout=3', 'Acquire::https::Timeout=3', 'Acquire::Retries=0']

/**
 * Downloads a program from the distribution's archive into `folder`, without installing its package and
 * without root. If the machine has no package lists, first downloads the lists, also into `folder`. `path` is
 * the PATH for apt-get.
 * @returns the program's path
 */
export async function fromApt(
  folder: string,
  { packageName, program, path }: { packageName: string; program: string; path: string | undefined },
): Promise<string> {
  if (!findOnPath('apt-get', path) || !findOnPath('dpkg', path)) throw new Error('apt-get is not installed')
  await apt(folder, shortTimeouts, ['download', packageName]).catch(async () => {
    const lists = join(folder, 'lists')
    await mkdir(join(lists, 'partial'), { recursive: true })
    const settings = [
      ...shortTimeouts,
      `Dir::State::Lists=${lists}`,
      'Dir::Cache::pkgcache=',
      'Dir::Cache::srcpkgcache=',
    ]
    await apt(folder, settings, ['update'])
    await apt(folder, settings, ['download', packageName])
  })
  const archive = (await readdir(folder)).find((name) => name.endsWith('.deb'))
  if (!archive) throw new Error('apt-get downloaded nothing')
  await run('dpkg', ['-x', archive, 'root'], { cwd: folder })
  return join(folder, 'root', program)
}

async function apt(folder: string, settings: string[], command: string[]): Promise<void> {
  // Keeps apt from switching to its own user, which can't write into the folder.
  const options = [...settings, 'APT::Sandbox::User=root'].flatMap((setting) => ['-o', setting])
  await run('apt-get', ['-q', ...options, ...command], { cwd: folder, timeout: 60_000 })
}
