import { setTimeout as pause } from 'node:timers/promises'
import { knex as createKnex, type Knex } from 'knex'
import { Client, DatabaseError } from 'pg'
import { ServiceError } from '../errors/service-error'
import type { Logger } from '../process/logger'
import { untilSuccess } from '../process/retry'
import { databaseFailure } from './failure'

/** One step of a schema. Its name orders it and never changes once released. */
export interface Migration {
  name: string
  up: (knex: Knex) => Promise<void>
  /** False where a step can't run in a transaction, such as CREATE INDEX CONCURRENTLY. It must then be repeatable. */
  transaction?: boolean
}

// Any constant.
const LOCK = 7_145_220_601

const SETTINGS = '-c TimeZone=UTC -c statement_timeout=0'

const LOOK_MS = 100

/**
 * Polls for the lock: another process's CREATE INDEX CONCURRENTLY would wait for a transaction that waits for the lock.
 */
const lock = async (guard: Client): Promise<void> => {
  const isOurs = async () =>
    (await guard.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [LOCK])).rows[0]!
      .locked
  while (!(await isOurs())) await pause(LOOK_MS)
}

// A statement that waits for a lock on a table blocks all that come after it. So it gives up, and the migration is tried again;
// and it does so before PostgreSQL's search for deadlocks, after 1 s, which may end a client's transaction instead.
const BRIEFLY = "SET LOCAL lock_timeout = '500ms'"

const briefly =
  (up: Migration['up']): Migration['up'] =>
  async (knex) => {
    await knex.raw(BRIEFLY)
    await up(knex)
  }

/**
 * For a migration that changes several tables in use, with `transaction: false`: each statement is its own transaction, because
 * locks on several tables could deadlock with other transactions. All statements must be repeatable.
 */
export const inSeparateTransactions = async (knex: Knex, statements: string[]): Promise<void> => {
  for (const statement of statements)
    await knex.transaction(async (transaction) => {
      await transaction.raw(BRIEFLY)
      await transaction.raw(statement)
    })
}

/** A database whose first migration is none of ours. Trying again does not help. */
export class UnknownSchema extends Error {
  constructor() {
    super(
      'This database was made by a development version of Leadwire whose schema is not supported. Use an empty database (with npm start: remove the data folder, or set LEADWIRE_DATA to a new one).',
    )
    this.name = 'UnknownSchema'
  }
}

const requireKnown = async (guard: Client, [first]: Migration[]): Promise<void> => {
  const table = await guard.query<{ exists: boolean }>(
    `SELECT to_regclass('knex_migrations') IS NOT NULL AS exists`,
  )
  if (!table.rows[0]!.exists) return
  const { rows } = await guard.query<{ name: string }>('SELECT name FROM knex_migrations')
  if (rows.length > 0 && !rows.some(({ name }) => name === first?.name)) throw new UnknownSchema()
}

/**
 * Migrates a database to the newest schema. Any number of processes may call it at once: one migrates, by an advisory lock, and
 * the others wait. Rejects while the database is unavailable, or when a table stays locked; try again then. Rejects with
 * UnknownSchema for a database of another schema.
 */
export const migrate = async (url: string, migrations: Migration[]): Promise<void> => {
  const guard = new Client({ connectionString: url })
  const knex = createKnex({
    client: 'pg',
    connection: { connectionString: url, options: SETTINGS } as Knex.PgConnectionConfig,
    pool: { min: 0, max: 2, propagateCreateError: true },
  })
  try {
    await guard.connect()
    await lock(guard)
    await requireKnown(guard, migrations)
    const config: Knex.MigratorConfig = {
      migrationSource: {
        getMigrations: async () => migrations,
        getMigrationName: (migration: Migration) => migration.name,
        getMigration: async ({ up, transaction = true }: Migration) => ({
          up: transaction ? briefly(up) : up,
          down: noWayBack,
          config: { transaction },
        }),
      },
      // A copy of the version before must be able to start again while a newer one is being rolled out.
      disableMigrationsListValidation: true,
    }
    // A process that was killed while it migrated leaves knex's own lock row set; under ours it can only be stale.
    await knex.migrate.forceFreeMigrationsLock(config)
    await knex.migrate.latest(config)
  } finally {
    await knex.destroy()
    // With the connection the lock is free.
    await guard.end().catch(() => undefined)
  }
}

const NO_SUCH_DATABASE = '3D000'

const isAway = (error: unknown) =>
  databaseFailure(error) instanceof ServiceError ||
  (error instanceof DatabaseError && error.code === NO_SUCH_DATABASE)

/** Retries `migrate` until it succeeds: a service may start before its database. Rejects when `signal` aborts, and with UnknownSchema. */
export const untilMigrated = (
  url: string,
  migrations: Migration[],
  { signal, logger }: { signal: AbortSignal; logger: Logger },
): Promise<void> => {
  let waiting = false
  return untilSuccess(() => migrate(url, migrations), {
    signal,
    pauseMs: 100,
    onFailure: (error) => {
      if (error instanceof UnknownSchema) throw error
      if (!isAway(error)) logger.warn({ err: error }, 'could not migrate the database: trying again')
      else if (!waiting) logger.info({ reason: (error as Error).message }, 'waiting for the database')
      waiting = true
    },
  })
}

const noWayBack = async () => {
  throw new Error('migrations only go forward: restore a backup to go back')
}
