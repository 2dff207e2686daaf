import type { Migration } from '@leadwire/service-kit'
import { accounts } from './schema/accounts'
import { attachments } from './schema/attachments'
import { idempotency } from './schema/idempotency'
import { leads } from './schema/leads'
import { outbox } from './schema/outbox'
import { quotes } from './schema/quotes'
import { scheduling } from './schema/scheduling'

const PARTS = [accounts, leads, quotes, scheduling, attachments, outbox, idempotency]

export const firstSchema: Migration = {
  name: '0001-first-schema',
  up: async (knex) => void (await knex.raw(PARTS.join('\n'))),
}
