import type { Actor, EntryChange } from '@leadwire/contracts'
import { requirePart, ServiceError, statement } from '@leadwire/service-kit'
import { type LockedLead, lockToChange } from '../leads/history/lock-lead'
import { recordLeadChange } from '../leads/history/record-lead-change'
import { requireUnerased } from '../leads/read/lead-rows'
import { recordNotification, type Subject } from '../notifications/record-notification'
import type { Operation } from '../operation'
import { recordChange } from '../outbox/record-change'
import { type RecordingTransaction, recordingTransaction } from '../outbox/record-events'
import { ENTRY_COLUMNS, type EntryRow, entryJson } from './schedule'

type Action = 'rescheduled' | 'cancelled'

interface FoundRow extends EntryRow {
  invitation_id: string
  /** The user whose calendar has the invitation. */
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
    changed_at = $7, invited_user_id = $8, sequence = $9
  WHERE account_id = $1 AND id = $2 RETURNING ${ENTRY_COLUMNS}`

const raiseVersion = statement('raise-version')`
  UPDATE leads SET version = version + 1 WHERE account_id = $1 AND id = $2`

/**
 * Finds an entry of a locked lead. Throws `not_found` if the lead has no such entry, and `invalid` if the
 * user to assign does not exist or was removed.
 */
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

/** A change of an entry, which is an appointment or a callback. The lead of the entry is locked. */
interface PlannedChange {
  subject: Subject
  action: Action
  actor: Actor | undefined
  asked: EntryChange
  lead: LockedLead
  entry: FoundRow
  /** Whether the entry changes. If not, the request only sends the invitation again. */
  differs: boolean
  newUserId: number
  /** The sequence of the invitation after the change. */
  sequence: number
}

/** Returns whether a request changes an entry. Throws `invalid` if it reschedules a cancelled entry. */
const findDifference = (subject: Subject, action: Action, entry: FoundRow): boolean => {
  const isOpen = entry.cancelled_at === null
  if (action === 'cancelled') return isOpen
  if (!isOpen)
    throw ServiceError.invalid({
      id: [`The ${subject} was cancelled and cannot be changed. Schedule a new ${subject}.`],
    })
  return entry.differs
}

/** Returns the user whose calendar has the invitation after the change. */
const findInvited = ({ action, asked: { notify }, entry, newUserId }: PlannedChange): number | null => {
  if (!notify) return entry.invited_user_id
  return action === 'cancelled' ? null : newUserId
}

const updateEntry = async (tx: RecordingTransaction, planned: PlannedChange): Promise<EntryRow> => {
  const { subject, action, asked, entry, newUserId, sequence } = planned
  const { accountId, date = null } = asked
  const { id, now } = entry
  const cancelledAt = action === 'cancelled' ? now : null
  const notify = entry.notify || asked.notify
  const values = [accountId, id, date, newUserId, notify, cancelledAt, now, findInvited(planned), sequence]
  const [changed] = await update(subject)(tx, ...values)
  return changed!
}

/**
 * Sends a cancellation to the user who loses the invitation. If the entry is not cancelled, also sends the
 * invitation to the assigned user.
 */
const notifyUsers = async (
  tx: RecordingTransaction,
  planned: PlannedChange,
  changed: EntryRow,
): Promise<void> => {
  const { subject, action, asked, lead, entry, differs, newUserId, sequence } = planned
  const { invitation_id: invitationId, invited_user_id: invited } = entry
  const { accountId } = asked
  const notification = { accountId, leadId: lead.id, entryId: entry.id, invitationId, sequence }
  const cancels = action === 'cancelled'
  if (cancels || (invited !== null && invited !== newUserId))
    await recordNotification(tx, {
      ...notification,
      subject: `${subject}.cancelled`,
      userId: invited ?? entry.user_id,
      date: entry.date,
    })
  if (cancels) return
  await recordNotification(tx, {
    ...notification,
    subject: differs && invited === newUserId ? `${subject}.rescheduled` : subject,
    userId: newUserId,
    date: changed.date,
  })
}

const showEntry = ({ id, user_id, date }: EntryRow) => ({ id, user_id, date })

/** Raises the version of the lead, and records the change in the lead's history and as an event. */
const recordEntryChange = (
  tx: RecordingTransaction,
  { subject, action, actor, asked: { accountId }, lead, entry }: PlannedChange,
  changed: EntryRow,
): void => {
  const { now: at } = entry
  const version = lead.version + 1
  raiseVersion.send(tx, accountId, lead.id)
  const to = action === 'cancelled' ? null : showEntry(changed)
  const changes = [{ field: subject, from: showEntry(entry), to }]
  recordLeadChange(tx, { accountId, leadId: lead.id, version, actor, changes, at })
  const data = entryJson(changed, lead.reference)
  recordChange(tx, { accountId, lead: { ...lead, version }, type: `${subject}.${action}`, at, data })
}

/**
 * Changes an appointment or a callback. With `notify`, also updates the invitation in the user's calendar,
 * and sends a cancellation to a user who is no longer assigned. Changes of a lead's entries wait for the
 * lock on the lead, so each change gets a higher `sequence`.
 */
const changeEntry = async (
  tx: RecordingTransaction,
  { subject, action, actor }: Pick<PlannedChange, 'subject' | 'action' | 'actor'>,
  asked: EntryChange,
): Promise<string> => {
  const lead = await requireUnerased(tx, lockToChange, asked)
  const entry = await findEntry(tx, subject, asked, lead.id)
  const differs = findDifference(subject, action, entry)
  const invitesAgain = asked.notify && action !== 'cancelled'
  if (!differs && !invitesAgain) return entryJson(entry, lead.reference)

  const newUserId = asked.userId ?? entry.user_id
  const sequence = differs ? entry.sequence + 1 : entry.sequence
  const planned = { subject, action, actor, asked, lead, entry, differs, newUserId, sequence }
  const changed = await updateEntry(tx, planned)
  if (asked.notify) await notifyUsers(tx, planned, changed)
  if (differs) recordEntryChange(tx, planned, changed)
  return entryJson(changed, lead.reference)
}

const changing =
  (subject: Subject, action: Action): Operation<'rescheduleAppointment'> =>
  (deps, { change }) =>
    recordingTransaction(deps, async (tx) => {
      const asked = requirePart(change, 'change')
      const data = await changeEntry(tx, { subject, action, actor: deps.actor }, asked)
      return { body: Buffer.from(`{"data":${data}}`) }
    })

/** Changes the date or the user of an entry, or both. Throws `invalid` if the entry was cancelled. */
export const rescheduleAppointment = changing('appointment', 'rescheduled')
export const rescheduleCallback = changing('callback', 'rescheduled')

export const cancelAppointment = changing('appointment', 'cancelled')
export const cancelCallback = changing('callback', 'cancelled')
