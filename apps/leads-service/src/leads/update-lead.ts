import type { UpdateLeadRequest, UpdateLeadResponse } from '@leadwire/contracts'
import { type Database, ServiceError, type Transaction } from '@leadwire/service-kit'
import { demand, isId, isText, isUuid } from '../arguments'
import { recordNotification } from '../notifications/record-notification'
import { isStatus } from './lead-arguments'
import { leadNotFound } from './lead-body'
import { loadLeads } from './load-leads'

const LOCK_LEAD = `
  SELECT id, user_id FROM leads WHERE reference = $2 AND account_id = $1 FOR NO KEY UPDATE`

const FIND_USER = 'SELECT id FROM users WHERE account_id = $1 AND lower(email) = lower($2)'

// What is set to what it was is no change: updated_at moves only when something else does, and never back.
const UPDATE_LEAD = `
  UPDATE leads
  SET value = coalesce($3, value), status = coalesce($4, status), user_id = coalesce($5, user_id),
    updated_at = greatest(clock_timestamp(), updated_at)
  WHERE account_id = $1 AND id = $2
    AND (value, status, user_id) IS DISTINCT FROM (coalesce($3, value), coalesce($4, status), coalesce($5, user_id))`

const assigneeOf = async (tx: Transaction, accountId: number, email: string): Promise<number> => {
  const [user] = await tx.query<{ id: number }>({
    name: 'find-user',
    text: FIND_USER,
    values: [accountId, email],
  })
  if (!user) throw ServiceError.invalid({ user_email: ['The selected user email is invalid.'] })
  return user.id
}

/** Updates what is given of a lead (interface: Update Lead). With `notify` the user it is then assigned to is told. */
export const updateLead =
  (deps: { database: Database; assetsUrl: string }) =>
  (request: UpdateLeadRequest): Promise<UpdateLeadResponse> =>
    deps.database.transaction(async (tx) => {
      const { accountId, reference, value, status, userEmail } = request
      demand({
        account_id: isId(accountId),
        value: value === undefined || value >= 0,
        status: status === undefined || isStatus(status),
        user_email: isText(userEmail ?? ''),
      })
      if (!isUuid(reference)) throw leadNotFound()
      const [lead] = await tx.query<{ id: number; user_id: number | null }>({
        name: 'lock-lead',
        text: LOCK_LEAD,
        values: [accountId, reference],
      })
      if (!lead) throw leadNotFound()
      const userId = userEmail === undefined ? lead.user_id : await assigneeOf(tx, accountId, userEmail)
      await tx.query({
        name: 'update-lead',
        text: UPDATE_LEAD,
        values: [accountId, lead.id, value ?? null, status ?? null, userId],
      })
      if (request.notify && userId !== null) {
        recordNotification(tx, { accountId, subject: 'assigned', userId, leadReference: reference })
      }
      const [body] = await loadLeads(tx, [{ accountId, reference }], deps.assetsUrl)
      return { body: body! }
    })
