import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { download } from '../process/download'

export const natsVersion = '2.15.0'

/**
 * The SHA-256 of nats-server-v2.15.0-PLATFORM.tar.gz. An archive with another hash is rejected. For each
 * platform, several public build files agree on the value: container files for Linux, package formulas for
 * macOS.
 */
const published: Record<string, string> = {
  'linux-amd64': '5d2c51caca950333aba84911df7d377f826f3a59ec36061c6539105084f65c92',
  'linux-arm64': 'cdc208f5a3f42963a52b6ab06ef65626bb870315dc936e26ba571780c6351112',
  'darwin-arm64': 'e1c4e22d70bd44abfa0bcb3c16f7cf0c66f648c2e728c58924e8a1ce88913cc8',
  'darwin-amd64': '5bd8b59ca5bf93fab3da2c5843cf564cd6e2e291e22ae3b861746e7ebe259b95',
}

const releases = 'https://github.com/nats-io/nats-server/releases/download'

/**
 * Downloads the official release into `folder`.
 * @returns the program's path
 * @throws if the download fails or the archive has another SHA-256
 */
export async function fromRelease(
  folder: string,
  { address = releases, sums = published }: { address?: string; sums?: Record<string, string> } = {},
): Promise<string> {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const expected = sums[platform]
  if (!expected) throw new Error(`no pinned release for ${platform}`)
  const name = `nats-server-v${natsVersion}-${platform}`
  const archive = await download(`${address}/v${natsVersion}/${name}.tar.gz`)
  const actual = createHash('sha256').update(archive).digest('hex')
  if (actual !== expected) throw new Error(`${name}.tar.gz has SHA-256 ${actual}, expected ${expected}`)
  await writeFile(join(folder, 'release.tar.gz'), archive)
  await promisify(execFile)('tar', ['-xzf', 'release.tar.gz'], { cwd: folder })
  return join(folder, name, 'nats-server')
}
