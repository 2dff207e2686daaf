import { ServiceError, statement, type Transaction } from '@leadwire/service-kit'
import { CHANGED_LEAD, type ChangedLead } from '../../outbox/record-change'
import { requireLead } from '../read/lead-rows'

type LockedLead = ChangedLead & { id: number; erased: boolean }

const LOCK = `
  SELECT l.id, l.erased_at IS NOT NULL AS erased, ${CHANGED_LEAD}
  FROM leads l WHERE l.reference = $2 AND l.account_id = $1 FOR`

// What is added to a lead locks it this way anyway, for its foreign key: an erasure waits for it, and is waited for.
const lockToAdd = statement<LockedLead>('lock-lead-to-add')`${LOCK} KEY SHARE`

/** For what raises the version of a lead: one change after the other. */
export const lockToChange = statement<LockedLead>('lock-lead-to-change')`${LOCK} NO KEY UPDATE`

export const requireUnerased = ({ erased }: { erased: boolean }): void => {
  if (!erased) return
  const detail = 'The personal data of this lead was erased: nothing of it changes any more.'
  throw new ServiceError('lead_erased', detail)
}

/** A lead whose records are to be changed; it is not erased before the transaction ends. Throws not_found and lead_erased. */
export const lockLead = async (
  tx: Transaction,
  asked: { accountId: number; reference: string },
  lock = lockToAdd,
): Promise<LockedLead> => {
  const lead = await requireLead(tx, lock, asked)
  requireUnerased(lead)
  return lead
}
