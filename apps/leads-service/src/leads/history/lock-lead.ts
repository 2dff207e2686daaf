import { statement } from '@leadwire/service-kit'
import { CHANGED_LEAD, type ChangedLead } from '../../outbox/record-change'

export type LockedLead = ChangedLead & { id: number; number: number; erased: boolean }

const LOCK = `
  SELECT l.id, l.number, l.erased_at IS NOT NULL AS erased, ${CHANGED_LEAD}
  FROM leads l WHERE l.reference = $2 AND l.account_id = $1 FOR`

/**
 * Reads a lead to which a record will be added, and locks it. An erasure of the lead and the addition of the
 * record wait for each other. The record's foreign key takes the same lock, but only when the record is
 * inserted: without this statement, the lead could be erased between the check of `erased` and the insert.
 */
export const lockToAdd = statement<LockedLead>('lock-lead-to-add')`${LOCK} KEY SHARE`

/** Locks a lead to change it. Other changes wait, so each change gets its own version. */
export const lockToChange = statement<LockedLead>('lock-lead-to-change')`${LOCK} NO KEY UPDATE`
