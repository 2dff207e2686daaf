import type { Migration } from '@leadwire/service-kit'
import { firstSchema } from './0001-first-schema'
import { notifications } from './0002-notifications'
import { audit } from './0003-audit'

/** The schema of the database "webhooks", step by step. A step that changes deliveries changes them in both schemas. */
export const migrations: Migration[] = [firstSchema, notifications, audit]
