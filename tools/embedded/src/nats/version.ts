import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The oldest nats-server the services are run against: Debian 12's. */
const oldest = [2, 9, 10] as const

/** Whether this is a nats-server that starts at all and is new enough. */
export async function isUsable(binary: string): Promise<boolean> {
  const answer = await promisify(execFile)(binary, ['--version'], { timeout: 5000 }).catch(() => undefined)
  const found = answer?.stdout
    .match(/v(\d+)\.(\d+)\.(\d+)/)
    ?.slice(1)
    .map(Number)
  if (!found) return false
  for (const [place, least] of oldest.entries()) {
    if (found[place] !== least) return (found[place] ?? 0) > least
  }
  return true
}
