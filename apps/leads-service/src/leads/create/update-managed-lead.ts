import type { CreateLead, UpdateManagedLeadRequest, UpdateManagedLeadResponse } from '@leadwire/contracts'
import { type OpenTransaction, requirePart, ServiceError, statement, within } from '@leadwire/service-kit'
import type { Dependencies } from '../../operation'
import type { OutboxEvent } from '../../outbox/record-events'
import { requireUnerased } from '../read/lead-rows'
import { retrieveManagedLead } from '../read/retrieve-managed-lead'
import { changeLead } from './change-lead'
import { LOCKED_LEAD, type LockedLead, reserveExternalId } from './lock-external-ids'
import type { WriteLeadsDeps } from './write-new-leads'

const lockLead = statement<LockedLead & { erased: boolean }>('lock-managed-lead')`
  SELECT ${LOCKED_LEAD}, l.erased_at IS NOT NULL AS erased
  FROM (SELECT * FROM leads WHERE reference = $2 AND account_id = $1 FOR NO KEY UPDATE) l`

// Does not lock the other lead, because two leads may only be locked by ascending id.
const findOther = statement<{ id: number }>('find-other-with-external-id')`
  SELECT id FROM leads WHERE account_id = $1 AND external_id = $2 AND external_id IS NOT NULL AND id <> $3`

/**
 * Locks a lead, and sets the fields that `item` gives. Raises the version, and records history and event, as
 * Update Lead does. Adds the event to `events`. Resolves with whether the lead has changed. Throws
 * `not_found` if there is no such lead, `lead_erased` if it was erased, and the error of a refused change.
 */
export const changeLeadByReference = async (
  deps: WriteLeadsDeps,
  tx: OpenTransaction,
  { item, reference, events }: { item: CreateLead; reference: string; events: OutboxEvent[] },
): Promise<boolean> => {
  const { accountId } = item
  const { externalId, upsert } = requirePart(item.lead, 'lead')
  if (externalId !== undefined) reserveExternalId(tx, accountId, externalId)
  const found = await requireUnerased(tx, lockLead, { accountId, reference })
  const [other] = externalId === undefined ? [] : await findOther(tx, accountId, externalId, found.id)
  if (other) throw ServiceError.invalid({ external_id: ['The external id has already been taken.'] })
  const outcome = await changeLead(deps, tx, { item, upsert: requirePart(upsert, 'upsert'), found, events })
  if (outcome instanceof ServiceError) throw outcome
  return outcome.version !== found.version
}

/**
 * Sets the given fields of a lead, which may be any field of a new lead. Locks, in this order, the new
 * external id, the lead and the search progress.
 */
export const updateManagedLead = async (
  deps: WriteLeadsDeps & Dependencies,
  request: UpdateManagedLeadRequest,
): Promise<UpdateManagedLeadResponse> => {
  const { accountId, reference, lead, traceparent } = request
  const item: CreateLead = { accountId, lead, traceparent, idempotency: undefined, actor: deps.actor }
  const events: OutboxEvent[] = []
  const response = await deps.database.transaction(async (tx) => {
    await changeLeadByReference(deps, tx, { item, reference, events })
    return retrieveManagedLead({ ...deps, database: within(tx) }, { accountId, reference })
  })
  deps.onCommitted(events)
  return response
}
