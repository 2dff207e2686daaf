import { setTimeout as pause } from 'node:timers/promises'
import { knex as createKnex, type Knex } from 'knex'
import { Client, DatabaseError } from 'pg'
import { ServiceError } from '../errors/service-error'
import type { ServiceContext } from '../process/lifecycle'
import { untilSuccess } from '../process/loops'
import { databaseFailure } from './failure'
import { clientConfig, type DatabaseConfig, type DatabaseServer, databaseServer } from './server'

/** One step of a schema. Its name orders it and never changes once released. */
export interface Migration {
  name: string
  up: (knex: Knex) => Promise<void>
  /** False where a step can't run in a transaction, such as CREATE INDEX CONCURRENTLY. It must then be repeatable. */
  transaction?: boolean
}

const LOCK = 7_145_220_601
const POLL_MS = 100

/** Polls for the lock: CREATE INDEX CONCURRENTLY would wait for a transaction that waits for it. For one that only holds it, it does not. */
const lock = async (guard: Client): Promise<void> => {
  for (;;) {
    await guard.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0')
    // Without values: a portal of the extended protocol keeps its snapshot, for which CREATE INDEX CONCURRENTLY waits.
    const { rowCount } = await guard.query(`SELECT WHERE pg_try_advisory_xact_lock(${LOCK})`)
    if (rowCount) return
    await guard.query('ROLLBACK')
    await pause(POLL_MS)
  }
}

// A statement that waits for a lock on a table blocks all that come after it: it gives up, and the migration is tried again. It
// does so before PostgreSQL's search for deadlocks, after 1 s, which may end a client's transaction instead.
const briefly =
  (up: Migration['up']): Migration['up'] =>
  async (knex) => {
    await knex.raw(
      "SET LOCAL lock_timeout = '500ms'; SET LOCAL statement_timeout = 0; SET LOCAL TimeZone = 'UTC'",
    )
    await up(knex)
  }

/** Trying again does not help. */
class UnknownSchema extends Error {}

const requireKnown = async (guard: Client, [first]: Migration[]): Promise<void> => {
  const table = await guard.query("SELECT WHERE to_regclass('knex_migrations') IS NOT NULL")
  if (table.rowCount === 0) return
  const { rows } = await guard.query<{ name: string }>('SELECT name FROM knex_migrations')
  if (rows.length > 0 && !rows.some(({ name }) => name === first?.name))
    throw new UnknownSchema(
      'This database was made by a development version of Leadwire whose schema is not supported. Use an empty database (with npm start: remove the data folder, or set LEADWIRE_DATA to a new one).',
    )
}

/** Of several processes one migrates, by an advisory lock. Rejects while a table stays locked: try again then. */
export const migrate = async (
  url: string,
  migrations: Migration[],
  server: DatabaseServer = { url },
): Promise<void> => {
  const connection = clientConfig(server)
  const guard = new Client(connection)
  const knex = createKnex({
    client: 'pg',
    connection: connection as Knex.PgConnectionConfig,
    pool: { min: 0, max: 2, propagateCreateError: true },
  })
  try {
    await guard.connect()
    await requireKnown(guard, migrations)
    await lock(guard)
    const config: Knex.MigratorConfig = {
      migrationSource: {
        getMigrations: async () => migrations,
        getMigrationName: (migration: Migration) => migration.name,
        getMigration: async ({ up, transaction = true }: Migration) => ({
          up: transaction ? briefly(up) : up,
          down: () => Promise.reject(new Error('migrations only go forward: restore a backup to go back')),
          config: { transaction },
        }),
      },
      // A copy of the version before must be able to start again while a newer one is being rolled out.
      disableMigrationsListValidation: true,
    }
    // A process that was killed while it migrated leaves knex's own lock row set; under ours it can only be stale.
    await knex.migrate.forceFreeMigrationsLock(config)
    await knex.migrate.latest(config)
    await guard.query('COMMIT')
  } finally {
    await knex.destroy()
    await guard.end().catch(() => undefined)
  }
}

// 3D000: there is no such database yet.
const isAway = (error: unknown) =>
  databaseFailure(error) instanceof ServiceError || (error instanceof DatabaseError && error.code === '3D000')

// The message of a ServiceError is for callers.
const reasonOf = (error: Error): string => (error.cause instanceof Error ? error.cause : error).message

/**
 * Brings the database of a service to the newest schema. Retries `migrate`: the service may start before its database. Rejects when
 * a drain starts, and with UnknownSchema.
 */
export const untilMigrated = (
  migrations: Migration[],
  { config, logger, lifecycle: { signal } }: ServiceContext<DatabaseConfig>,
  server = databaseServer(config),
): Promise<void> => {
  let waiting = false
  return untilSuccess(() => migrate(config.DATABASE_URL, migrations, server), {
    signal,
    pauseMs: 100,
    onFailure: (error) => {
      if (error instanceof UnknownSchema) throw error
      if (!isAway(error)) logger.warn({ err: error }, 'could not migrate the database: trying again')
      else if (!waiting) logger.info({ reason: reasonOf(error as Error) }, 'waiting for the database')
      waiting = true
    },
  })
}
