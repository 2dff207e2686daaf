import {
  type Actor,
  type IfMatch,
  leadItemJson,
  type UpdateLeadRequest,
  type UpdateLeadResponse,
} from '@leadwire/contracts'
import { ServiceError, type Transaction } from '@leadwire/service-kit'
import { isActor, isId, isText, isUuid, validate } from '../../arguments'
import { emailForm } from '../../contacts/email-form'
import type { Row } from '../../database/row-mapper'
import { recordNotification } from '../../notifications/record-notification'
import { recordChange } from '../../outbox/record-change'
import { type RecordingDeps, recordingTransaction } from '../../outbox/record-events'
import { isStatus } from '../create/lead-arguments'
import { isOfVersion } from '../read/lead-etag'
import { leadNotFound } from '../read/lead-result'
import { isTest, LEAD } from '../read/lead-rows'
import { type JsonSettings, loadLeads } from '../read/load-leads'
import { leadErased } from './lock-lead'
import { fieldChanges, recordLeadChange } from './record-lead-change'

// updated_at never goes back, whatever the clock does. The clock is read when the row is locked, so that the transaction has
// its id before: change-horizon.ts counts on it.
const LOCK_LEAD = `
  SELECT ${LEAD.columns}, l.user_id, l.test AS marked, l.version, l.erased_at IS NOT NULL AS erased,
    (SELECT api_key FROM accounts WHERE id = l.account_id) AS api_key, greatest(clock_timestamp(), l.updated_at) AS now
  FROM (SELECT * FROM leads WHERE reference = $2 AND account_id = $1 FOR NO KEY UPDATE) l`

const FIND_USER =
  'SELECT id FROM users WHERE account_id = $1 AND lower(email) = lower($2) AND removed_at IS NULL'

// JSON of another format is given up (format 0), for the release that made it too: the lead is rendered from its columns.
const UPDATE_LEAD = `
  UPDATE leads SET value = $3, status = $4, user_id = $5, updated_at = $6, version = version + 1,
    json_format = CASE WHEN json_format = $7 THEN $7 ELSE 0 END, json = $8
  WHERE account_id = $1 AND id = $2`

interface LockedRow extends Row {
  user_id: number | null
  /** Whether it is a test lead whatever its status. */
  marked: boolean
  version: number
  api_key: string
  erased: boolean
  now: string
}

const assigneeOf = async (tx: Transaction, accountId: number, email: string): Promise<number> => {
  const [user] = await tx.query<{ id: number }>({
    name: 'find-user',
    text: FIND_USER,
    values: [accountId, emailForm(email)],
  })
  if (!user) throw ServiceError.invalid({ user_email: ['The selected user email is invalid.'] })
  return user.id
}

// Checked when the lead is locked and everything else is in order (RFC 9110, 13.2.1).
const requireMatch = (ifMatch: IfMatch | undefined, version: number): void => {
  if (ifMatch && !ifMatch.etags.some((etag) => isOfVersion(etag, version)))
    throw new ServiceError(
      'precondition_failed',
      'The lead is not what If-Match names: it was changed, or the tag is a weak one.',
    )
}

/**
 * Updates what is given of a lead (interface: Update Lead), unless it is no longer what `if_match` names. With `notify` the
 * assigned user is notified. Throws not_found, lead_erased, invalid and
 * precondition_failed.
 */
export const updateLead =
  (deps: { actor?: Actor | undefined } & RecordingDeps & JsonSettings) =>
  (request: UpdateLeadRequest): Promise<UpdateLeadResponse> =>
    recordingTransaction(deps, async (tx) => {
      const { accountId, reference, value, status, userEmail } = request
      validate({
        account_id: isId(accountId),
        value: value === undefined || value >= 0,
        status: status === undefined || isStatus(status),
        user_email: isText(userEmail ?? ''),
        actor: deps.actor === undefined || isActor(deps.actor),
      })
      if (!isUuid(reference)) throw leadNotFound()
      const [row] = await tx.query<LockedRow>({
        name: 'lock-lead',
        text: LOCK_LEAD,
        values: [accountId, reference],
      })
      if (!row) throw leadNotFound()
      if (row.erased) throw leadErased()
      const lead = LEAD.read(row)
      const userId = userEmail === undefined ? row.user_id : await assigneeOf(tx, accountId, userEmail)
      requireMatch(request.ifMatch, row.version)
      const changed = {
        ...lead,
        value: value ?? lead.value,
        status: status ?? lead.status,
        updated_at: row.now,
      }
      const test = isTest({ test: row.marked, status: changed.status })
      // What is set to what it was is no change.
      const before = { ...lead, userId: row.user_id }
      const changes = await fieldChanges(tx, accountId, before, { ...changed, userId })
      if (changes.length > 0) {
        const json = leadItemJson({ ...changed, test: test ? 1 : 0 })
        const { id, updated_at: at } = changed
        tx.send({
          name: 'update-lead',
          text: UPDATE_LEAD,
          values: [accountId, id, changed.value, changed.status, userId, at, deps.jsonFormat, json],
        })
        const version = row.version + 1
        recordLeadChange(tx, { accountId, leadId: id, version, actor: deps.actor, changes, at })
        const data = `${json.slice(0, -1)},"changes":${JSON.stringify(changes)}}`
        const after = { reference: lead.reference, test, version, api_key: row.api_key }
        recordChange(tx, { accountId, lead: after, type: 'lead.updated', at, data })
      }
      if (request.notify && userId !== null) {
        await recordNotification(tx, { accountId, leadId: lead.id, subject: 'assigned', userId })
      }
      const [tagged] = await loadLeads(tx, [{ accountId, reference }], deps)
      return tagged!
    })
