import { AUDIT_TABLE, type Migration } from '@leadwire/service-kit'
import { accounts } from './schema/accounts'
import { attachments } from './schema/attachments'
import { idempotency } from './schema/idempotency'
import { imports } from './schema/imports'
import { leads } from './schema/leads'
import { outbox } from './schema/outbox'
import { quotes } from './schema/quotes'
import { reconciliation } from './schema/reconciliation'
import { scheduling } from './schema/scheduling'

const TABLES = [
  ...[accounts, leads, quotes, scheduling, attachments, outbox, idempotency, imports, reconciliation],
  AUDIT_TABLE,
]

const sql = (name: string, text: string): Migration => ({
  name,
  up: async (knex) => void (await knex.raw(text)),
})

/** The schema of the database "leads", step by step. */
export const migrations: Migration[] = [sql('0001-schema', TABLES.join('\n'))]
