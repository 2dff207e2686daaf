import type { Migration } from '@leadwire/service-kit'
import { firstSchema } from './first-schema'

/** Every step of the schema, oldest first. */
export const MIGRATIONS: Migration[] = [firstSchema]
