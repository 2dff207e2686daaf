import type { Appointment } from '@leadwire/contracts'
import { answerUnderKey, newEventId, requirePart, ServiceError, statement } from '@leadwire/service-kit'
import { lockToAdd } from '../leads/history/lock-lead'
import { recordChangedLead } from '../leads/history/record-changed-lead'
import { listRecords, selectRecords } from '../leads/read/lead-records'
import { requireUnerased } from '../leads/read/lead-rows'
import { recordNotification, type Subject } from '../notifications/record-notification'
import type { Dependencies, Operation } from '../operation'
import { recordChange } from '../outbox/record-change'
import { type RecordingTransaction, recordingTransaction } from '../outbox/record-events'
import { setDueEvent } from './set-due-event'

const SCHEDULED_COLUMNS = 't.id, t.user_id, t.date, t.notify, t.created_at'

/**
 * The public columns of an appointment or a callback. The response to a request that schedules an entry omits
 * `cancelled_at`, `done_at` and `remind`, as the lead API requires.
 */
export const ENTRY_COLUMNS = `${SCHEDULED_COLUMNS}, t.cancelled_at, t.done_at, t.remind`

type ScheduledRow = { id: number; user_id: number; date: string; notify: boolean; created_at: string }

export type EntryRow = ScheduledRow & {
  cancelled_at: string | null
  done_at: string | null
  remind: boolean
}

export const entryJson = (row: ScheduledRow & Partial<EntryRow>, lead_reference: string): string => {
  const { id, user_id, date, notify, created_at, cancelled_at, done_at, remind } = row
  const scheduled = { id, lead_reference, user_id, date, notify, created_at }
  return JSON.stringify({ ...scheduled, cancelled_at, done_at, remind })
}

/**
 * Makes an operation that stores an appointment or a callback. With `notify`, the operation also records a
 * notification to the user. The lead's status does not change.
 */
const scheduling = <Of extends Subject>(subject: Of) => {
  const insert = statement<ScheduledRow>(`schedule-${subject}`)`
    INSERT INTO ${subject}s AS t
      (account_id, lead_id, user_id, date, notify, invitation_id, invited_user_id, remind)
    SELECT account_id, $2::bigint, id, $4::timestamptz, $5::boolean, $6::uuid,
      CASE WHEN $5::boolean THEN id END, $7::boolean
    FROM users WHERE account_id = $1 AND id = $3 AND removed_at IS NULL
    RETURNING ${SCHEDULED_COLUMNS}`
  const insertEntry = async (tx: RecordingTransaction, asked: Appointment): Promise<Buffer> => {
    const { accountId, userId, notify, remind } = asked
    const lead = await requireUnerased(tx, lockToAdd, asked)
    const eventId = newEventId()
    const [entry] = await insert(tx, accountId, lead.id, userId, asked.date, notify, eventId, remind)
    if (!entry) throw ServiceError.invalid({ user_id: ['The selected user id is invalid.'] })
    const { id: entryId, date, created_at: at } = entry
    setDueEvent(tx, subject, { accountId, entryId })
    const notification = { accountId, leadId: lead.id, subject, userId, date, entryId, eventId }
    if (notify) await recordNotification(tx, notification)
    const data = entryJson(entry, lead.reference)
    recordChange(tx, { accountId, lead, type: `${subject}.scheduled`, at, data })
    recordChangedLead(tx, accountId, lead.id)
    return Buffer.from(`{"data":${data}}`)
  }
  return async (deps: Dependencies, { [subject]: asked }: Record<Of, Appointment | undefined>) => {
    const entry = requirePart<Appointment>(asked, subject)
    const { idempotency, reference } = entry
    return recordingTransaction(deps, (tx) =>
      answerUnderKey(tx, idempotency, () => insertEntry(tx, entry), reference),
    )
  }
}

export const scheduleAppointment: Operation<'scheduleAppointment'> = scheduling('appointment')
export const scheduleCallback: Operation<'scheduleCallback'> = scheduling('callback')

const listEntries = (table: string): Operation<'listAppointments'> =>
  listRecords(table, selectRecords(table, ENTRY_COLUMNS), entryJson)

export const listAppointments = listEntries('appointments')
export const listCallbacks = listEntries('callbacks')
