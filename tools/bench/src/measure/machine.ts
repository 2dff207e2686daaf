import { cpus, loadavg, totalmem } from 'node:os'
import type { Sql } from '../stack/database'

/** What a figure depends on, and nothing that tells whose machine it is. */
export type Machine = { facts: string[] }

export const loadBefore = (): string =>
  loadavg()
    .map((load) => load.toFixed(2))
    .join(', ')

export async function describeMachine(leads: Sql, load: string): Promise<Machine> {
  const [row] = await leads.rows<{ server_version: string }>('SHOW server_version')
  const [sync] = await leads.rows<{ synchronous_commit: string }>('SHOW synchronous_commit')
  const [fsync] = await leads.rows<{ fsync: string }>('SHOW fsync')
  return {
    facts: [
      `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB of memory`,
      `Node ${process.versions.node}, PostgreSQL ${row!.server_version.split(' ')[0]} (fsync ${fsync!.fsync}, synchronous_commit ${sync!.synchronous_commit})`,
      `Load average before the run: ${load}`,
    ],
  }
}
