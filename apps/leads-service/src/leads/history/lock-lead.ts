import { ServiceError, type Transaction } from '@leadwire/service-kit'
import { isUuid } from '../../arguments'
import { CHANGED_LEAD, type ChangedLead } from '../../outbox/record-change'
import { leadNotFound } from '../read/lead-result'

// What is added to a lead locks it this way anyway, for its foreign key: an erasure waits for it, and is waited for.
const LOCK = `
  SELECT l.id, l.erased_at IS NOT NULL AS erased, ${CHANGED_LEAD}
  FROM leads l WHERE l.reference = $2 AND l.account_id = $1 FOR KEY SHARE`

export const leadErased = () =>
  new ServiceError(
    'lead_erased',
    'The personal data of this lead was erased: nothing of it changes any more.',
  )

/** A lead that something is to be added to; it is not erased before the transaction ends. Throws not_found and lead_erased. */
export const lockLead = async (
  tx: Transaction,
  { accountId, reference }: { accountId: number; reference: string },
): Promise<ChangedLead & { id: number }> => {
  if (!isUuid(reference)) throw leadNotFound()
  const [lead] = await tx.query<ChangedLead & { id: number; erased: boolean }>({
    name: 'lock-lead-to-add',
    text: LOCK,
    values: [accountId, reference],
  })
  if (!lead) throw leadNotFound()
  if (lead.erased) throw leadErased()
  return lead
}
