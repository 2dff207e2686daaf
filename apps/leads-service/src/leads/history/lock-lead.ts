import { statement } from '@leadwire/service-kit'
import { CHANGED_LEAD, type ChangedLead } from '../../outbox/record-change'

type LockedLead = ChangedLead & { id: number; erased: boolean }

const LOCK = `
  SELECT l.id, l.erased_at IS NOT NULL AS erased, ${CHANGED_LEAD}
  FROM leads l WHERE l.reference = $2 AND l.account_id = $1 FOR`

/** For what adds a record to a lead, which locks it this way anyway, for its foreign key: an erasure waits for it, and is waited for. */
export const lockToAdd = statement<LockedLead>('lock-lead-to-add')`${LOCK} KEY SHARE`

/** For what raises the version of a lead: one change after the other. */
export const lockToChange = statement<LockedLead>('lock-lead-to-change')`${LOCK} NO KEY UPDATE`
