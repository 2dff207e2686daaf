import { type Migration, type ServiceContext, untilMigrated } from '@leadwire/service-kit'
import type { Config } from '../config'
import { schema } from './0001-schema'
import { signIn } from './0002-sign-in'

/** The schema of the database `webhooks`, step by step. */
export const migrations: Migration[] = [schema, signIn]

/** Migrates the database `webhooks` to the newest schema. Waits while the database is unavailable. */
export const migrateDatabase = (context: ServiceContext<Config>): Promise<void> =>
  untilMigrated(migrations, context)
