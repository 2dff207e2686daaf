import { emailForm, leadItemJson } from '@leadwire/contracts'
import { ServiceError, statement } from '@leadwire/service-kit'
import type { Row } from '../../database/row-mapper'
import { recordNotification } from '../../notifications/record-notification'
import type { Dependencies, Operation } from '../../operation'
import { CHANGED_LEAD, type ChangedLead, recordChange } from '../../outbox/record-change'
import { type RecordingTransaction, recordingTransaction } from '../../outbox/record-events'
import { matchError } from '../read/lead-response'
import { isTest, LEAD, requireUnerased } from '../read/lead-rows'
import { loadLeads } from '../read/retrieve-leads'
import { type FieldChange, fieldChanges, leadUpdated, recordLeadChange } from './record-lead-change'
import { soldAt } from './sold-at'

// `now` becomes `updated_at`, which never goes back, even if the clock does. Locking the row gives this
// transaction its transaction id, and the clock is read afterwards. change-horizon.ts relies on this order.
// $3 is the e-mail address of the user to assign, or NULL.
export const lockToUpdate = statement<LockedRow>('lock-lead')`
  SELECT ${LEAD.columns}, ${CHANGED_LEAD}, l.user_id, l.test AS marked, l.attributes, l.erased_at IS NOT NULL AS erased,
    greatest(clock_timestamp(), l.updated_at) AS now,
    (SELECT id FROM users WHERE account_id = $1 AND lower(email) = lower($3) AND removed_at IS NULL) AS assignee_id
  FROM (SELECT * FROM leads WHERE reference = $2 AND account_id = $1 FOR NO KEY UPDATE) l`

// Does not rewrite `json_details`. If `json_details` has another format than the new `json`, marks both as
// outdated (format 0). Every release then renders the lead from its columns.
const update = statement('update-lead')`
  UPDATE leads SET value = $3, status = $4, user_id = $5, updated_at = $6, version = version + 1,
    sold_at = ${soldAt('$4', '$6')},
    json_format = CASE WHEN json_format = $7 THEN $7 ELSE 0 END, json = $8
  WHERE account_id = $1 AND id = $2`

interface LockedRow extends Row, ChangedLead {
  user_id: number | null
  /** JSON. */
  attributes: string | null
  /** Whether the lead was marked as a test, whatever its status is. */
  marked: boolean
  erased: boolean
  now: string
  assignee_id: number | null
}

type Assignee = { id: number | null; email: string | null }

/**
 * Writes the changes in `set` to a locked lead, and records its history and its event. `others` are further
 * changes, which the caller writes itself.
 */
export const writeUpdate = async (
  tx: RecordingTransaction,
  { actor, jsonFormat }: Dependencies,
  row: LockedRow,
  set: { accountId: number; value?: number | undefined; status?: string | undefined; assignee?: Assignee },
  others: FieldChange[] = [],
): Promise<void> => {
  const { accountId, assignee = { id: row.user_id, email: row.user_email } } = set
  const lead = LEAD.read(row)
  const { id: leadId } = lead
  const userId = assignee.id
  const after = {
    status: set.status ?? lead.status,
    value: set.value ?? lead.value,
    userId: userId ?? undefined,
  }
  const before = { status: lead.status, value: lead.value, userId: row.user_id ?? undefined }
  const changes = [...(await fieldChanges(tx, accountId, before, after)), ...others]
  if (changes.length === 0) return
  const test = isTest({ test: row.marked, status: after.status })
  const version = row.version + 1
  const { now: at, attributes } = row
  const json = leadItemJson({ ...lead, ...after, updated_at: at, test: test ? 1 : 0 })
  update.send(tx, accountId, leadId, after.value, after.status, userId, at, jsonFormat, json)
  recordLeadChange(tx, { accountId, leadId, version, actor, changes, at })
  const changed = { ...row, status: after.status, user_email: assignee.email, test, version }
  recordChange(tx, { accountId, lead: changed, ...leadUpdated(json, changes), at, attributes })
}

/**
 * Updates the given fields of a lead (the lead API, section Update Lead). Throws `precondition_failed` if
 * `ifMatch` does not name the lead's version.
 */
export const updateLead: Operation<'updateLead'> = (deps, request) =>
  recordingTransaction(deps, async (tx) => {
    const { accountId, reference, value, status, userEmail } = request
    const email = userEmail === undefined ? null : emailForm(userEmail)
    const row = await requireUnerased(tx, lockToUpdate, request, email)
    if (userEmail !== undefined && row.assignee_id === null)
      throw ServiceError.invalid({ user_email: ['The selected user email is invalid.'] })
    // Checks If-Match last, because a request that is refused for another reason must get the error for that
    // reason (RFC 9110, 13.2.1).
    const mismatch = matchError(request.ifMatch, row.version)
    if (mismatch) throw mismatch
    const assignee =
      email === null ? { id: row.user_id, email: row.user_email } : { id: row.assignee_id, email }
    await writeUpdate(tx, deps, row, { accountId, value, status, assignee })
    if (request.notify && assignee.id !== null) {
      const { id: leadId } = LEAD.read(row)
      await recordNotification(tx, { accountId, leadId, subject: 'assigned', userId: assignee.id })
    }
    const [tagged] = await loadLeads(tx, [{ accountId, reference }], deps)
    return tagged!
  })
