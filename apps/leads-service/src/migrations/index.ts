import type { Migration } from '@leadwire/service-kit'
import { schema } from './0001-schema'

/** The schema of the database "leads", step by step. */
export const migrations: Migration[] = [schema]
