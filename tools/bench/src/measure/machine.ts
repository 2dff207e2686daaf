import { cpus, loadavg, totalmem } from 'node:os'
import type { Sql } from '@leadwire/fill'

export const describeLoadAverage = (): string => {
  const loads = loadavg().map((load) => load.toFixed(2))
  return `Load average before the run: ${loads.join(', ')}`
}

/**
 * Describes the hardware and the database settings on which the figures depend, without identifying the
 * machine.
 */
export const describeMachine = async (leads: Sql): Promise<string[]> => {
  const show = async (name: string) => Object.values((await leads.rows(`SHOW ${name}`))[0]!)[0] as string
  const [version, fsync, sync] = await Promise.all(
    ['server_version', 'fsync', 'synchronous_commit'].map(show),
  )
  const memory = Math.round(totalmem() / 2 ** 30)
  return [
    `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${memory} GiB of memory`,
    `Node ${process.versions.node}, PostgreSQL ${version!.split(' ')[0]} (fsync ${fsync}, synchronous_commit ${sync})`,
  ]
}
