import type { Migration } from '@leadwire/service-kit'
import { accounts } from './0001-accounts'
import { leads } from './0002-leads'
import { quotes } from './0003-quotes'
import { scheduling } from './0004-scheduling'
import { attachments } from './0005-attachments'
import { outbox } from './0006-outbox'
import { idempotency } from './0007-idempotency'
import { json } from './0008-json'
import { draftedEvents } from './0009-drafted-events'
import { leadVersion } from './0010-lead-version'

/** The schema of the database "leads", step by step. */
export const migrations: Migration[] = [
  accounts,
  leads,
  quotes,
  scheduling,
  attachments,
  outbox,
  idempotency,
  json,
  draftedEvents,
  leadVersion,
]
