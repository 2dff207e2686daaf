import { type Migration, type ServiceContext, untilMigrated } from '@leadwire/service-kit'
import type { Config } from '../../config'
import { schema } from './0001-schema'
import { signIn } from './0002-sign-in'
import { notes } from './0004-notes'

/** The migrations of the database `leads`, in order. */
export const migrations: Migration[] = [schema, signIn, notes]

/** Migrates the database `leads` to the newest schema. Waits while the database is unavailable. */
export const migrateDatabase = (context: ServiceContext<Config>): Promise<void> =>
  untilMigrated(migrations, context)
