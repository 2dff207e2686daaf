import { cpus, loadavg, totalmem } from 'node:os'
import type { Sql } from '@leadwire/fill'

export const loadBefore = (): string =>
  `Load average before the run: ${loadavg()
    .map((load) => load.toFixed(2))
    .join(', ')}`

/** What a figure depends on, and nothing that tells whose machine it is. */
export const describeMachine = async (leads: Sql): Promise<string[]> => {
  const show = async (name: string) => Object.values((await leads.rows(`SHOW ${name}`))[0]!)[0] as string
  const [version, fsync, sync] = await Promise.all(
    ['server_version', 'fsync', 'synchronous_commit'].map(show),
  )
  return [
    `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB of memory`,
    `Node ${process.versions.node}, PostgreSQL ${version!.split(' ')[0]} (fsync ${fsync}, synchronous_commit ${sync})`,
  ]
}
