import type { Knex } from 'knex'
import type { Client } from 'pg'

/** One step of a schema. Its name orders it and never changes once released. */
export interface Migration {
  name: string
  up: (knex: Knex) => Promise<void>
}

// Any constant: it names the lock among all sessions of one database.
const LOCK = 7_145_220_601

/**
 * Brings a database to the newest schema. Any number of processes may call it at once: an advisory lock lets one
 * migrate while the others wait, and they then find nothing left to do.
 */
export const migrate = async (knex: Knex, migrations: Migration[]): Promise<void> => {
  const guard = (await knex.client.acquireConnection()) as Client
  try {
    await guard.query('SET statement_timeout = 0')
    await guard.query('SELECT pg_advisory_lock($1)', [LOCK])
    const config: Knex.MigratorConfig = {
      migrationSource: {
        getMigrations: async () => migrations,
        getMigrationName: (migration: Migration) => migration.name,
        getMigration: async (migration: Migration) => ({ up: migration.up, down: noWayBack }),
      },
      // A copy of the version before must be able to start again while a newer one is being rolled out.
      disableMigrationsListValidation: true,
    }
    // A process that was killed while it migrated leaves knex's own lock row set; under ours it can only be stale.
    await knex.migrate.forceFreeMigrationsLock(config)
    await knex.migrate.latest(config)
  } finally {
    await guard.query('SELECT pg_advisory_unlock_all()').catch(() => undefined)
    await guard.query('RESET statement_timeout').catch(() => undefined)
    await knex.client.releaseConnection(guard)
  }
}

const noWayBack = async () => {
  throw new Error('migrations only go forward: restore a backup to go back')
}
