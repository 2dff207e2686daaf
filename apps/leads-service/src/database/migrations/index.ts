import { type Migration, type ServiceContext, untilMigrated } from '@leadwire/service-kit'
import type { Config } from '../../config'
import { schema } from './0001-schema'
import { signIn } from './0002-sign-in'
import { schedule } from './0003-schedule'
import { notes } from './0004-notes'
import { leadList } from './0005-lead-list'
import { leadRetention } from './0006-lead-retention'
import { figures } from './0007-figures'
import { dueEvents } from './0008-due-events'
import { views } from './0009-views'
import { importFileName } from './0010-import-file-name'

/** The migrations of the database `leads`, in order. */
export const migrations: Migration[] = [
  schema,
  signIn,
  schedule,
  notes,
  leadList,
  leadRetention,
  figures,
  dueEvents,
  views,
  importFileName,
]

/** Migrates the database `leads` to the newest schema. Waits while the database is unavailable. */
export const migrateDatabase = (context: ServiceContext<Config>): Promise<void> =>
  untilMigrated(migrations, context)
