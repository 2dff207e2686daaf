import type { Database } from '@leadwire/service-kit'
import type { Clock } from '../clock'

// 0.2.0 made the table of workers, and no later release does.
const UPGRADED_AT = `
  SELECT migration_time AS "upgradedAt" FROM knex_migrations
  WHERE name = '021-shared-claims' AND to_regclass('public.workers') IS NOT NULL`

/**
 * Whether copies of 0.2.0 may run on this database, or come back to it: from its upgrade on for so long. Answers with what tells it at
 * any time.
 */
export const sharedWithPreviousRelease = async (
  database: Database,
  { periodMs, clock }: { periodMs: number; clock: Clock },
): Promise<() => boolean> => {
  const [row] = await database.query<{ upgradedAt: string }>({ text: UPGRADED_AT })
  const until = row ? Date.parse(row.upgradedAt) + periodMs : 0
  return () => clock.now().getTime() < until
}
