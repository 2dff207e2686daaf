import { ServiceError, statement, within } from '@leadwire/service-kit'
import { isActor, isId, isOptional, isUuid, validate } from '../../arguments'
import type { Operation } from '../../operation'
import { recordingTransaction } from '../../outbox/record-events'
import { lockToUpdate, writeUpdate } from '../history/update-lead'
import { leadNotFound } from '../read/lead-response'
import { DUPLICATE_OF, requireUnerased } from '../read/lead-rows'
import { retrieveManagedLead } from '../read/retrieve-managed-lead'

// Both: of two that are marked as duplicates of each other at the same time the second is refused.
const lock = statement<LinkedLead>('lock-duplicates')`
  SELECT l.id, l.reference, l.status, l.erased_at IS NOT NULL AS erased, l.duplicate_of_id IS NOT NULL AS linked,
    l.status_before_duplicate AS "statusBefore", ${DUPLICATE_OF} AS "duplicateOf"
  FROM (
    SELECT * FROM leads WHERE account_id = $1 AND reference = ANY ($2::uuid[]) ORDER BY id FOR NO KEY UPDATE
  ) l`

const link = statement('link-duplicate')`
  UPDATE leads SET duplicate_of_id = $3, status_before_duplicate = $4 WHERE account_id = $1 AND id = $2`

interface LinkedLead {
  id: number
  reference: string
  status: string
  erased: boolean
  linked: boolean
  statusBefore: string | null
  /** Null also where it points to an erased lead. */
  duplicateOf: string | null
}

const refused = (message: string) => ServiceError.invalid({ reference: [message] })

/** Throws invalid where a lead can not be a duplicate of another. Nothing becomes a duplicate of a duplicate: there are no cycles. */
const checkOriginal = (lead: LinkedLead, original: LinkedLead | undefined) => {
  if (!original || original.erased) throw refused('The selected reference is invalid.')
  if (original.id === lead.id) throw refused('A lead can not be a duplicate of itself.')
  if (original.duplicateOf !== null)
    throw refused(`The selected lead is itself a duplicate, of ${original.duplicateOf}.`)
}

/** The status of a lead that is marked, or no longer is, and the one to restore. */
const statusesOf = ({ status, linked, statusBefore }: LinkedLead, original: LinkedLead | undefined) => {
  const isDuplicate = status === 'duplicate'
  if (original) return { status: 'duplicate', before: isDuplicate ? statusBefore : status }
  return { status: (linked && isDuplicate && statusBefore) || status, before: null }
}

/**
 * Marks a lead as a duplicate of another of its account, or of none any more, which restores its status unless it was changed
 * meanwhile: an update of the lead. Throws not_found, lead_erased and invalid.
 */
export const markLeadDuplicate: Operation<'markLeadDuplicate'> = (deps, request) =>
  recordingTransaction(deps, async (tx) => {
    const { accountId, reference, original: named } = request
    validate({ account_id: isId(accountId), actor: isOptional(deps.actor, isActor) })
    const leads = await lock(tx, accountId, [reference, named ?? reference].filter(isUuid))
    const find = (wanted: string) => leads.find((lead) => lead.reference === wanted.toLowerCase())
    const lead = find(reference)
    if (!lead) throw leadNotFound()
    const row = await requireUnerased(tx, lockToUpdate, request, null)
    const original = named === undefined ? undefined : find(named)
    if (named !== undefined) checkOriginal(lead, original)
    const { status, before } = statusesOf(lead, original)
    const [from, to] = [lead.duplicateOf, original?.reference ?? null]
    link.send(tx, accountId, lead.id, original?.id ?? null, before)
    const linked = from === to ? [] : [{ field: 'duplicate_of', from, to }]
    await writeUpdate(tx, deps, row, { accountId, status }, linked)
    return retrieveManagedLead({ ...deps, database: within(tx) }, request)
  })
