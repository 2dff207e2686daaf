import { type ServiceContext, untilMigrated } from '@leadwire/service-kit'
import type { Config } from '../config'
import { migrations } from './migrations'

/** Brings the database `leads` to the newest schema, and waits for it while it is unavailable. */
export const migrateDatabase = ({ config, logger, lifecycle }: ServiceContext<Config>): Promise<void> =>
  untilMigrated(config.DATABASE_URL, migrations, { signal: lifecycle.signal, logger })
