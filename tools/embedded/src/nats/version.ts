import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The oldest supported version of nats-server: the version in Debian 12. */
const oldest = [2, 9, 10] as const

/** Whether a program is a nats-server that runs on this machine and is new enough. */
export async function isUsable(binary: string): Promise<boolean> {
  const result = await promisify(execFile)(binary, ['--version'], { timeout: 20_000 }).catch(() => undefined)
  const found = result?.stdout
    .match(/v(\d+)\.(\d+)\.(\d+)/)
    ?.slice(1)
    .map(Number)
  if (!found) return false
  for (const [place, least] of oldest.entries()) {
    if (found[place] !== least) return (found[place] ?? 0) > least
  }
  return true
}
