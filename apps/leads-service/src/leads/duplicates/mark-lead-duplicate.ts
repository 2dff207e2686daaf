import { isUuid } from '@leadwire/contracts'
import { ServiceError, statement, within } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { recordingTransaction } from '../../outbox/record-events'
import { lockToUpdate, writeUpdate } from '../history/update-lead'
import { leadNotFound } from '../read/lead-response'
import { DUPLICATE_OF, requireUnerased } from '../read/lead-rows'
import { retrieveManagedLead } from '../read/retrieve-managed-lead'

// Locks both leads. If two requests mark them as duplicates of each other at the same time, the second is
// refused.
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
  /** The reference of the original. null if there is none, or if it was erased. */
  duplicateOf: string | null
}

const refused = (message: string) => ServiceError.invalid({ reference: [message] })

/**
 * Throws `invalid` if a lead cannot be marked as a duplicate of `original`. There are no cycles, because a
 * lead that is itself a duplicate is refused as an original.
 */
const checkOriginal = (lead: LinkedLead, original: LinkedLead | undefined) => {
  if (!original || original.erased) throw refused('The selected reference is invalid.')
  if (original.id === lead.id) throw refused('A lead cannot be a duplicate of itself. Select another lead.')
  if (original.duplicateOf !== null)
    throw refused(
      `The selected lead is itself a duplicate of ${original.duplicateOf}. Select that lead instead.`,
    )
}

/** Returns the new status of a lead, and the status to restore when the mark is removed. */
const chooseStatuses = ({ status, linked, statusBefore }: LinkedLead, original: LinkedLead | undefined) => {
  const isDuplicate = status === 'duplicate'
  if (original) return { status: 'duplicate', before: isDuplicate ? statusBefore : status }
  return { status: (linked && isDuplicate && statusBefore) || status, before: null }
}

/**
 * Marks a lead as a duplicate of another lead of its account, or removes the mark. Removing the mark restores
 * the status that the lead had before it was marked. A status that was changed after the marking stays.
 * A visible change raises the version, and records history and event, as Update Lead does. Throws `not_found`
 * if there is no such lead, `lead_erased` if it was erased, and `invalid` if it cannot be a duplicate of the
 * other lead (`checkOriginal`).
 */
export const markLeadDuplicate: Operation<'markLeadDuplicate'> = (deps, request) =>
  recordingTransaction(deps, async (tx) => {
    const { accountId, reference, original: named } = request
    const leads = await lock(tx, accountId, [reference, named ?? reference].filter(isUuid))
    const find = (wanted: string) => leads.find((lead) => lead.reference === wanted.toLowerCase())
    const lead = find(reference)
    if (!lead) throw leadNotFound()
    const row = await requireUnerased(tx, lockToUpdate, request, null)
    const original = named === undefined ? undefined : find(named)
    if (named !== undefined) checkOriginal(lead, original)
    const { status, before } = chooseStatuses(lead, original)
    const [from, to] = [lead.duplicateOf, original?.reference ?? null]
    link.send(tx, accountId, lead.id, original?.id ?? null, before)
    const linked = from === to ? [] : [{ field: 'duplicate_of', from, to }]
    await writeUpdate(tx, deps, row, { accountId, status }, linked)
    return retrieveManagedLead({ ...deps, database: within(tx) }, request)
  })
