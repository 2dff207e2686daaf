import type { Migration } from '@leadwire/service-kit'
import { firstSchema } from './0001-first-schema'

/** The schema of the database "webhooks", step by step. */
export const migrations: Migration[] = [firstSchema]
