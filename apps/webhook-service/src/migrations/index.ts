import type { Migration } from '@leadwire/service-kit'
import { schema } from './0001-schema'

/** The schema of the database "webhooks", step by step. A step that changes deliveries changes them in both schemas. */
export const migrations: Migration[] = [schema]
