import { type Migration, type ServiceContext, untilMigrated } from '@leadwire/service-kit'
import type { Config } from '../config'
import { schema } from './0001-schema'
import { attemptReason } from './0002-attempt-reason'
import { replays } from './0003-replays'
import { endpointFilters } from './0004-endpoint-filters'
import { endpointReports } from './0005-endpoint-reports'
import { attributes } from './0007-attributes'
import { heldAccounts } from './0008-held-accounts'
import { storedBodies } from './0009-stored-bodies'
import { deletedEndpoints } from './0010-deleted-endpoints'

/** The schema of the database "webhooks", step by step. A step that changes deliveries changes them in both schemas. */
export const migrations: Migration[] = [
  ...[schema, attemptReason, replays, endpointFilters, endpointReports, attributes],
  ...[heldAccounts, storedBodies, deletedEndpoints],
]

/** Brings the database `webhooks` to the newest schema, and waits for it while it is unavailable. */
export const migrateDatabase = (context: ServiceContext<Config>): Promise<void> =>
  untilMigrated(migrations, context)
