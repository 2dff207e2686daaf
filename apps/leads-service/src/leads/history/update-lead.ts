import { emailForm, leadItemJson } from '@leadwire/contracts'
import { ServiceError, statement } from '@leadwire/service-kit'
import { isActor, isId, isOptional, isStatus, isText, validate } from '../../arguments'
import type { Row } from '../../database/row-mapper'
import { recordNotification } from '../../notifications/record-notification'
import type { Dependencies, Operation } from '../../operation'
import { CHANGED_LEAD, type ChangedLead, recordChange } from '../../outbox/record-change'
import { type RecordingTransaction, recordingTransaction } from '../../outbox/record-events'
import { matchError } from '../read/lead-response'
import { isTest, LEAD, requireUnerased } from '../read/lead-rows'
import { loadLeads } from '../read/retrieve-leads'
import { type FieldChange, fieldChanges, leadUpdated, recordLeadChange } from './record-lead-change'

// updated_at never goes back, whatever the clock does. The clock is read when the row is locked, so that the transaction has
// its id before: change-horizon.ts counts on it. $3 is the e-mail of the user who is to be assigned, or NULL.
export const lockToUpdate = statement<LockedRow>('lock-lead')`
  SELECT ${LEAD.columns}, ${CHANGED_LEAD}, l.user_id, l.test AS marked, l.attributes, l.erased_at IS NOT NULL AS erased,
    greatest(clock_timestamp(), l.updated_at) AS now,
    (SELECT id FROM users WHERE account_id = $1 AND lower(email) = lower($3) AND removed_at IS NULL) AS assignee_id
  FROM (SELECT * FROM leads WHERE reference = $2 AND account_id = $1 FOR NO KEY UPDATE) l`

// JSON of another format is given up (format 0), for the release that made it too: the lead is rendered from its columns.
const update = statement('update-lead')`
  UPDATE leads SET value = $3, status = $4, user_id = $5, updated_at = $6, version = version + 1,
    json_format = CASE WHEN json_format = $7 THEN $7 ELSE 0 END, json = $8
  WHERE account_id = $1 AND id = $2`

interface LockedRow extends Row, ChangedLead {
  user_id: number | null
  /** JSON. */
  attributes: string | null
  /** Whether it is a test lead whatever its status. */
  marked: boolean
  erased: boolean
  now: string
  assignee_id: number | null
}

type Assignee = { id: number | null; email: string | null }

/** Writes what changes in a locked lead, with its history and event. `others` are changes of what is not shown with it. */
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

/** Updates what is given of a lead (interface: Update Lead), unless it is no longer what `if_match` names. */
export const updateLead: Operation<'updateLead'> = (deps, request) =>
  recordingTransaction(deps, async (tx) => {
    const { accountId, reference, value, status, userEmail } = request
    validate({
      account_id: isId(accountId),
      value: isOptional(value, (pounds) => pounds >= 0),
      status: isOptional(status, isStatus),
      user_email: isText(userEmail ?? ''),
      actor: isOptional(deps.actor, isActor),
    })
    const email = userEmail === undefined ? null : emailForm(userEmail)
    const row = await requireUnerased(tx, lockToUpdate, request, email)
    if (userEmail !== undefined && row.assignee_id === null)
      throw ServiceError.invalid({ user_email: ['The selected user email is invalid.'] })
    // Everything else is in order (RFC 9110, 13.2.1).
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
