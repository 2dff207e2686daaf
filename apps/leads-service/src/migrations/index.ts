import type { Migration } from '@leadwire/service-kit'
import { firstSchema } from './0001-first-schema'
import { publishNotifications } from './0002-publish-notifications'

/** The schema of the database "leads", step by step. */
export const migrations: Migration[] = [firstSchema, publishNotifications]
