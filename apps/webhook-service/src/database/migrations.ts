import type { Migration } from '@leadwire/service-kit'
import { createSchema } from './create-schema'

/** Every step of the schema, oldest first. */
export const MIGRATIONS: Migration[] = [createSchema]
