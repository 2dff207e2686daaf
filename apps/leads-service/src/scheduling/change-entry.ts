import { randomUUID } from 'node:crypto'
import type { Actor, EntryChange } from '@leadwire/contracts'
import { ServiceError, statement } from '@leadwire/service-kit'
import { isActor, isId, isInstant, isOptional, validate } from '../arguments'
import { lockToChange } from '../leads/history/lock-lead'
import { recordLeadChange } from '../leads/history/record-lead-change'
import { requireUnerased } from '../leads/read/lead-rows'
import { recordNotification, type Subject } from '../notifications/record-notification'
import type { Operation } from '../operation'
import { recordChange } from '../outbox/record-change'
import { type RecordingTransaction, recordingTransaction } from '../outbox/record-events'
import { ENTRY_COLUMNS, type EntryRow, entryJson } from './schedule'

type Action = 'rescheduled' | 'cancelled'

interface FoundRow extends EntryRow {
  invitation_id: string | null
  /** The user in whose calendar the invitation is. */
  invited_user_id: number | null
  sequence: number
  now: string
  user_known: boolean
  differs: boolean
}

const find = (subject: Subject) => statement<FoundRow>(`find-${subject}`)`
  SELECT ${ENTRY_COLUMNS}, t.invitation_id, t.invited_user_id, t.sequence, clock_timestamp() AS now,
    $4::bigint IS NULL OR EXISTS (SELECT FROM users WHERE account_id = $1 AND id = $4 AND removed_at IS NULL) AS user_known,
    t.user_id <> coalesce($4, t.user_id) OR t.date <> coalesce($5::timestamptz, t.date) AS differs
  FROM ${subject}s t WHERE t.account_id = $1 AND t.lead_id = $2 AND t.id = $3`

const update = (subject: Subject) => statement<EntryRow>(`change-${subject}`)`
  UPDATE ${subject}s AS t SET date = coalesce($3::timestamptz, date), user_id = $4, notify = $5, cancelled_at = $6,
    changed_at = $7, invitation_id = $8, invited_user_id = $9, sequence = $10
  WHERE account_id = $1 AND id = $2 RETURNING ${ENTRY_COLUMNS}`

const raiseVersion = statement('raise-version')`
  UPDATE leads SET version = version + 1 WHERE account_id = $1 AND id = $2`

/** The entry of a locked lead. Throws not_found and, for a user that can't be assigned, invalid. */
const findEntry = async (
  tx: RecordingTransaction,
  subject: Subject,
  { accountId, id, userId, date }: EntryChange,
  leadId: number,
): Promise<FoundRow> => {
  const [found] = await find(subject)(tx, accountId, leadId, id, userId ?? null, date ?? null)
  if (!found) throw new ServiceError('not_found', `There is no ${subject} with this id.`)
  if (!found.user_known) throw ServiceError.invalid({ user_id: ['The selected user id is invalid.'] })
  return found
}

const shown = ({ id, user_id, date }: EntryRow) => ({ id, user_id, date })

/**
 * Changes an appointment or a callback, and with `notify` the invitation in the calendar that it went to: a user who is no longer
 * assigned gets a cancellation. The lock of the lead makes one change follow the other, so `sequence` rises strictly.
 */
const changeEntry = async (
  tx: RecordingTransaction,
  { subject, action, actor }: { subject: Subject; action: Action; actor: Actor | undefined },
  asked: EntryChange,
): Promise<string> => {
  const { accountId, notify, userId, date = null } = asked
  const lead = await requireUnerased(tx, lockToChange, asked)
  const entry = await findEntry(tx, subject, asked, lead.id)
  const { now } = entry
  const cancels = action === 'cancelled'
  if (entry.cancelled_at !== null && !cancels)
    throw ServiceError.invalid({ id: [`The ${subject} was cancelled and can not be changed.`] })
  const changes = cancels ? entry.cancelled_at === null : entry.differs
  if (!changes && (cancels || !notify)) return entryJson(entry, lead.reference)

  // Of an entry from before invitations were recorded it is known that its first user was invited, but not the invitation's id.
  const invited = entry.invitation_id === null && entry.notify ? entry.user_id : entry.invited_user_id
  const invitationId = entry.invitation_id ?? randomUUID()
  const sequence = entry.sequence + (changes ? 1 : 0)
  const newUserId = userId ?? entry.user_id
  const nowInvited = notify ? (cancels ? null : newUserId) : invited
  const values = [accountId, entry.id, date, newUserId, entry.notify || notify, cancels ? now : null]
  const [changed] = await update(subject)(tx, ...values, now, invitationId, nowInvited, sequence)

  const notification = { accountId, leadId: lead.id, entryId: entry.id, invitationId, sequence }
  if (notify && (cancels || (invited !== null && invited !== newUserId)))
    await recordNotification(tx, {
      ...notification,
      subject: `${subject}.cancelled`,
      userId: invited ?? entry.user_id,
      date: entry.date,
    })
  if (notify && !cancels)
    await recordNotification(tx, {
      ...notification,
      subject: changes && invited === newUserId ? `${subject}.rescheduled` : subject,
      userId: newUserId,
      date: changed!.date,
    })
  const data = entryJson(changed!, lead.reference)
  if (!changes) return data
  const version = lead.version + 1
  raiseVersion.send(tx, accountId, lead.id)
  recordLeadChange(tx, {
    ...{ accountId, leadId: lead.id, version, actor, at: now },
    changes: [{ field: subject, from: shown(entry), to: cancels ? null : shown(changed!) }],
  })
  recordChange(tx, { accountId, lead: { ...lead, version }, type: `${subject}.${action}`, at: now, data })
  return data
}

const changing =
  (subject: Subject, action: Action): Operation<'rescheduleAppointment'> =>
  (deps, { change }) =>
    recordingTransaction(deps, async (tx) => {
      validate({
        change: change !== undefined,
        account_id: isId(change?.accountId ?? 0),
        id: isId(change?.id ?? 0),
        user_id: isOptional(change?.userId, isId),
        date: isOptional(change?.date, isInstant),
        actor: isOptional(deps.actor, isActor),
      })
      const data = await changeEntry(tx, { subject, action, actor: deps.actor }, change!)
      return { body: Buffer.from(`{"data":${data}}`) }
    })

/** What is given of date and user changes. Throws invalid for what was cancelled. */
export const rescheduleAppointment = changing('appointment', 'rescheduled')
export const rescheduleCallback = changing('callback', 'rescheduled')

export const cancelAppointment = changing('appointment', 'cancelled')
export const cancelCallback = changing('callback', 'cancelled')
