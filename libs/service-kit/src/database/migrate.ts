import { setTimeout as pause } from 'node:timers/promises'
import { knex as createKnex, type Knex } from 'knex'
import { Client, DatabaseError } from 'pg'
import { ServiceError } from '../errors/service-error'
import type { ServiceContext } from '../process/lifecycle'
import { limitRepeats } from '../process/limit-repeats'
import { untilSuccess } from '../process/loops'
import { databaseFailure } from './failure'
import { clientConfig, type DatabaseConfig, type DatabaseServer, databaseServer } from './server'

/**
 * One step of a schema. Its name begins with its number and never changes after a release. `migrate` refuses
 * a database that has recorded some steps, but not the first one.
 */
export interface Migration {
  name: string
  up: (knex: Knex) => Promise<void>
  /**
   * True if a release that does not contain this step cannot work on the schema after the step. Such a
   * release then refuses to start.
   */
  breaksOlderReleases?: boolean
  /**
   * False if the step cannot run in a transaction, such as CREATE INDEX CONCURRENTLY. Such a step must be
   * repeatable.
   */
  transaction?: boolean
}

const LOCK = 7_145_220_601
const POLL_MS = 100

/**
 * Takes the migration lock by polling, because waiting for the lock would cause a deadlock. A transaction
 * that waits for a lock has a snapshot, and CREATE INDEX CONCURRENTLY waits for every transaction that has a
 * snapshot. Two migrating processes would therefore wait for each other. A transaction that only holds the
 * lock has no snapshot.
 */
const lock = async (guard: Client): Promise<void> => {
  for (;;) {
    await guard.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0')
    // The statement contains the number itself. A statement with separate values uses the extended protocol,
    // which would keep a snapshot, and CREATE INDEX CONCURRENTLY would wait for it.
    const { rowCount } = await guard.query(`SELECT WHERE pg_try_advisory_xact_lock(${LOCK})`)
    if (rowCount) return
    await guard.query('ROLLBACK')
    await pause(POLL_MS)
  }
}

// Limits the step's wait for a lock to 500 ms. A statement that waits for a table's lock blocks all later
// statements on the table. After 500 ms the step fails instead, and the migration is retried. The limit is
// below 1 s, the time after which PostgreSQL looks for deadlocks and may end a client's transaction.
const briefly =
  (up: Migration['up']): Migration['up'] =>
  async (knex) => {
    await knex.raw(
      "SET LOCAL lock_timeout = '500ms'; SET LOCAL statement_timeout = 0; SET LOCAL TimeZone = 'UTC'",
    )
    await up(knex)
  }

/** Thrown if this release cannot work on the schema. Retrying does not help. */
class UnknownSchema extends Error {}

const DEVELOPMENT_SCHEMA =
  'A development version of Leadwire made this database, and this version cannot upgrade it. To keep the leads, ' +
  'start the old version again and export them with "leadwire export". Then start this version with an empty ' +
  'database (with npm start: set LEADWIRE_DATA to a new folder), and import them with "leadwire import".'

const describeNewerSchema = (unknown: string): string =>
  'A newer release of Leadwire has migrated this database (to ' +
  unknown +
  '), and this release cannot work with it. Start the newer release, or restore a backup from before the upgrade.'

const listMigrations = async (guard: Client): Promise<string[]> => {
  const table = await guard.query("SELECT WHERE to_regclass('knex_migrations') IS NOT NULL")
  if (table.rowCount === 0) return []
  const { rows } = await guard.query<{ name: string }>('SELECT name FROM knex_migrations ORDER BY id')
  return rows.map(({ name }) => name)
}

/**
 * Returns the name of the newest applied step that breaks older releases. Only a release that contains this
 * step can work on the schema. The name was recorded by the newest release that has migrated the schema.
 */
const readRequiredMigration = async (guard: Client): Promise<string | undefined> => {
  const table = await guard.query("SELECT WHERE to_regclass('schema_compatibility') IS NOT NULL")
  if (table.rowCount === 0) return undefined
  const { rows } = await guard.query<{ name: string }>(
    'SELECT required_migration AS name FROM schema_compatibility',
  )
  return rows[0]?.name
}

/**
 * Returns the applied steps that this release does not contain. Rejects with UnknownSchema if a development
 * version made the schema. If a newer release has migrated the schema, also rejects unless this release
 * contains the newest step that breaks older releases. Most releases let the previous release work on the new
 * schema, because old and new copies run together during a rollout, and the rollout may be reversed.
 */
const requireSupported = async (guard: Client, migrations: Migration[]): Promise<string[]> => {
  const applied = await listMigrations(guard)
  const known = new Set(migrations.map(({ name }) => name))
  if (applied.length > 0 && !applied.some((name) => name === migrations[0]?.name))
    throw new UnknownSchema(DEVELOPMENT_SCHEMA)
  const unknown = applied.filter((name) => !known.has(name))
  if (unknown.length === 0) return []
  const required = await readRequiredMigration(guard)
  if (required === undefined || !known.has(required))
    throw new UnknownSchema(describeNewerSchema(unknown.at(-1)!))
  return unknown
}

/**
 * Records the newest step that breaks older releases, or the first step if no step breaks them. A release
 * that does not contain the recorded step sees from the record that it cannot work on the schema.
 */
const recordRequiredMigration = async (guard: Client, migrations: Migration[]): Promise<void> => {
  const required = migrations.findLast(({ breaksOlderReleases }) => breaksOlderReleases) ?? migrations[0]
  if (!required || (await readRequiredMigration(guard)) === required.name) return
  await guard.query('CREATE TABLE IF NOT EXISTS schema_compatibility (required_migration text NOT NULL)')
  await guard.query('DELETE FROM schema_compatibility')
  await guard.query('INSERT INTO schema_compatibility VALUES ($1)', [required.name])
}

/**
 * Applies the migrations. An advisory lock ensures that only one process migrates at a time. Rejects if a
 * table stays locked. The caller may then retry.
 */
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
    await lock(guard)
    const unknown = await requireSupported(guard, migrations)
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
      // Does not reject unknown steps, because a copy of the previous release must be able to restart while a
      // newer release is being rolled out.
      disableMigrationsListValidation: true,
    }
    // Frees knex's own lock row, which a process leaves behind if it is killed during a migration. The row
    // can only be stale, because this process holds the advisory lock.
    await knex.migrate.forceFreeMigrationsLock(config)
    await knex.migrate.latest(config)
    if (unknown.length === 0) await recordRequiredMigration(guard, migrations)
    await guard.query('COMMIT')
  } finally {
    await knex.destroy()
    await guard.end().catch(() => undefined)
  }
}

// 3D000 means that the database does not exist yet.
const isAway = (error: unknown) =>
  databaseFailure(error) instanceof ServiceError || (error instanceof DatabaseError && error.code === '3D000')

// Returns the message of the cause, which has the reason. A ServiceError's own message is for callers of the
// API.
const findReason = (error: Error): string => (error.cause instanceof Error ? error.cause : error).message

/**
 * Migrates the database of a service to the newest schema. Retries `migrate`, because the service may start
 * before its database. Does not retry after UnknownSchema, but rejects at once. Also rejects when a drain
 * starts.
 */
export const untilMigrated = (
  migrations: Migration[],
  { config, logger, lifecycle: { signal } }: ServiceContext<DatabaseConfig>,
  server = databaseServer(config),
): Promise<void> => {
  const failures = limitRepeats(logger)
  let waiting = false
  return untilSuccess(() => migrate(config.DATABASE_URL, migrations, server), {
    signal,
    pauseMs: 100,
    onFailure: (error) => {
      if (error instanceof UnknownSchema) throw error
      if (!isAway(error)) failures.warn({ err: error }, 'could not migrate the database: trying again')
      else if (!waiting) logger.info({ reason: findReason(error as Error) }, 'waiting for the database')
      waiting = true
    },
  })
}
