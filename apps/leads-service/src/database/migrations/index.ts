import { type Migration, type ServiceContext, untilMigrated } from '@leadwire/service-kit'
import type { Config } from '../../config'
import { tokenEndpoint } from './0003-token-endpoint'
import { erasureReceivers } from './0004-erasure-receivers'
import { attributes } from './0005-attributes'
import { changedEntries } from './0006-changed-entries'
import { duplicates } from './0007-duplicates'
import { capture } from './0008-capture'
import { TABLES } from './schema'

const sql = (name: string, text: string): Migration => ({
  name,
  up: async (knex) => void (await knex.raw(text)),
})

/** The schema of the database "leads", step by step. */
export const migrations: Migration[] = [
  sql('0001-schema', TABLES.join('\n')),
  // The list of scopes stands in the gateway: a new scope takes no migration.
  sql(
    '0002-scopes',
    `ALTER TABLE tokens DROP CONSTRAINT tokens_scopes_check, ADD CONSTRAINT tokens_scopes_check CHECK (cardinality(scopes) > 0)`,
  ),
  tokenEndpoint,
  erasureReceivers,
  attributes,
  changedEntries,
  duplicates,
  capture,
]

/** Brings the database `leads` to the newest schema, and waits for it while it is unavailable. */
export const migrateDatabase = (context: ServiceContext<Config>): Promise<void> =>
  untilMigrated(migrations, context)
