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
import { setDueEvent } from './set-due-event'

type Action = 'rescheduled' | 'cancelled'

interface FoundRow extends EntryRow {
  invitation_id: string
  /** The user whose calendar has the invitation. */
  invited_user_id: number | null
  sequence: number
  now: string
  user_known: boolean
  /** Whether the request has another date or another user. */
  moves: boolean
}

const find = (subject: Subject) => statement<FoundRow>(`find-${subject}`)`
  SELECT ${ENTRY_COLUMNS}, t.invitation_id, t.invited_user_id, t.sequence, clock_timestamp() AS now,
    $4::bigint IS NULL OR EXISTS (SELECT FROM users WHERE account_id = $1 AND id = $4 AND removed_at IS NULL) AS user_known,
    t.user_id <> coalesce($4, t.user_id) OR t.date <> coalesce($5::timestamptz, t.date) AS moves
  FROM ${subject}s t WHERE t.account_id = $1 AND t.lead_id = $2 AND t.id = $3`

const update = (subject: Subject) => statement<EntryRow>(`change-${subject}`)`
  UPDATE ${subject}s AS t SET date = coalesce($3::timestamptz, date), user_id = $4, notify = $5, cancelled_at = $6,
    changed_at = $7, invited_user_id = $8, sequence = $9, done_at = $10,
    remind = coalesce($11, remind)
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
  /** Whether the date or the user changes, or the entry is cancelled. */
  differs: boolean
  /** Whether the entry is done after the change. */
  isDone: boolean
  /** Whether to send messages about the invitation. No messages are sent about a done entry. */
  notify: boolean
  newUserId: number
  /** The sequence of the invitation after the change. */
  sequence: number
}

/**
 * Returns whether a request cancels an entry, or changes its date or user. Throws `invalid` if the request
 * changes a cancelled entry, or cancels or moves a done entry. `isDone` is whether the entry is done
 * afterwards.
 */
const findDifference = (subject: Subject, action: Action, entry: FoundRow, isDone: boolean): boolean => {
  const isCancelled = entry.cancelled_at !== null
  if (action === 'cancelled') {
    if (isDone && !isCancelled)
      throw ServiceError.invalid({
        id: [`The ${subject} is done and cannot be cancelled. Set "done" to false first.`],
      })
    return !isCancelled
  }
  if (isCancelled)
    throw ServiceError.invalid({
      id: [`The ${subject} was cancelled and cannot be changed. Schedule a new ${subject}.`],
    })
  if (isDone && entry.moves)
    throw ServiceError.invalid({
      done: [
        `The date and the user of a done ${subject} cannot change. Send "done": false to open it again.`,
      ],
    })
  return entry.moves
}

/** Returns the user whose calendar has the invitation after the change. */
const findInvited = ({ action, notify, entry, newUserId }: PlannedChange): number | null => {
  if (!notify) return entry.invited_user_id
  return action === 'cancelled' ? null : newUserId
}

const updateEntry = async (tx: RecordingTransaction, planned: PlannedChange): Promise<EntryRow> => {
  const { subject, action, asked, entry, isDone, newUserId, sequence } = planned
  const { accountId, date = null, remind = null } = asked
  const { id, now } = entry
  const cancelledAt = action === 'cancelled' ? now : null
  const doneAt = isDone ? (entry.done_at ?? now) : null
  const notify = entry.notify || planned.notify
  const changed = [accountId, id, date, newUserId, notify, cancelledAt]
  const [row] = await update(subject)(tx, ...changed, now, findInvited(planned), sequence, doneAt, remind)
  // Another user or another lead time of the account does not change when the event is due.
  const isSetAgain = row!.date !== entry.date || doneAt !== entry.done_at || cancelledAt !== null
  if (isSetAgain) setDueEvent(tx, subject, { accountId, entryId: id })
  return row!
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

const showEntry = ({ id, user_id, date, done_at }: EntryRow) => ({ id, user_id, date, done_at })

/**
 * Raises the version of the lead, and records the change in the lead's history. Also records an event, unless
 * the entry was only marked as done or opened again.
 */
const recordEntryChange = (
  tx: RecordingTransaction,
  { subject, action, actor, asked: { accountId }, lead, entry, differs }: PlannedChange,
  changed: EntryRow,
): void => {
  const { now: at } = entry
  const version = lead.version + 1
  raiseVersion.send(tx, accountId, lead.id)
  const to = action === 'cancelled' ? null : showEntry(changed)
  const changes = [{ field: subject, from: showEntry(entry), to }]
  recordLeadChange(tx, { accountId, leadId: lead.id, version, actor, changes, at })
  if (!differs) return
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
  const wasDone = entry.done_at !== null
  const isDone = asked.done ?? wasDone
  const differs = findDifference(subject, action, entry, isDone)
  const notify = asked.notify && !isDone
  const invitesAgain = notify && action !== 'cancelled'
  const hasChanged = differs || isDone !== wasDone
  const changesReminder = asked.remind !== undefined && asked.remind !== entry.remind
  if (!hasChanged && !invitesAgain && !changesReminder) return entryJson(entry, lead.reference)

  const newUserId = asked.userId ?? entry.user_id
  const sequence = differs ? entry.sequence + 1 : entry.sequence
  const planned = { subject, action, actor, asked, lead, entry, differs, isDone, notify, newUserId, sequence }
  const changed = await updateEntry(tx, planned)
  if (notify) await notifyUsers(tx, planned, changed)
  if (hasChanged) recordEntryChange(tx, planned, changed)
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

/**
 * Changes the date or the user of an entry, marks the entry as done, or opens it again. Throws `invalid` if
 * the entry was cancelled.
 */
export const rescheduleAppointment = changing('appointment', 'rescheduled')
export const rescheduleCallback = changing('callback', 'rescheduled')

export const cancelAppointment = changing('appointment', 'cancelled')
export const cancelCallback = changing('callback', 'cancelled')
