import { statement } from '@leadwire/service-kit'
import { CHANGED_LEAD, type ChangedLead } from '../../outbox/record-change'

export type LockedLead = ChangedLead & { id: number; erased: boolean }

const LOCK = `
  SELECT l.id, l.erased_at IS NOT NULL AS erased, ${CHANGED_LEAD}
  FROM leads l WHERE l.reference = $2 AND l.account_id = $1 FOR`

/**
 * Locks a lead to add a record to it. The record's foreign key takes the same lock anyway. The lock makes an
 * erasure of the lead and the addition of a record wait for each other.
 */
export const lockToAdd = statement<LockedLead>('lock-lead-to-add')`${LOCK} KEY SHARE`

/** Locks a lead to change it. Other changes wait, so each change gets its own version. */
export const lockToChange = statement<LockedLead>('lock-lead-to-change')`${LOCK} NO KEY UPDATE`
