import type {
  Appointment,
  ListAppointmentsRequest,
  ScheduleAppointmentRequest,
  ScheduleCallbackRequest,
} from '@leadwire/contracts'
import { type Answer, ServiceError } from '@leadwire/service-kit'
import { isId, isInstant, validate } from '../arguments'
import { underKey } from '../idempotency/idempotency-keys'
import { lockLead } from '../leads/history/lock-lead'
import { listRecords, selectRecords } from '../leads/read/lead-records'
import { recordNotification } from '../notifications/record-notification'
import { recordChange } from '../outbox/record-change'
import { type RecordingDeps, type RecordingTransaction, recordingTransaction } from '../outbox/record-events'

type Subject = 'appointment' | 'callback'

/** What is read of an appointment or a callback. */
export const ENTRY_COLUMNS = 't.id, t.user_id, t.date, t.notify, t.created_at'

type EntryRow = { id: number; user_id: number; date: string; notify: boolean; created_at: string }

const entryJson = ({ id, ...others }: EntryRow, leadReference: string): string =>
  JSON.stringify({ id, lead_reference: leadReference, ...others })

const insertInto = (subject: Subject) => `
  INSERT INTO ${subject}s AS t (account_id, lead_id, user_id, date, notify)
  SELECT account_id, $2::bigint, id, $4::timestamptz, $5::boolean FROM users WHERE account_id = $1 AND id = $3 AND removed_at IS NULL
  RETURNING ${ENTRY_COLUMNS}`

const insertEntry = async (
  tx: RecordingTransaction,
  subject: Subject,
  asked: Appointment,
): Promise<Buffer> => {
  const { accountId, userId, notify } = asked
  validate({ account_id: isId(accountId), user_id: isId(userId), date: isInstant(asked.date) })
  const lead = await lockLead(tx, asked)
  const values = [accountId, lead.id, userId, asked.date, notify]
  const query = { name: `schedule-${subject}`, text: insertInto(subject), values }
  const [entry] = await tx.query<EntryRow>(query)
  if (!entry) throw ServiceError.invalid({ user_id: ['The selected user id is invalid.'] })
  const { id: entryId, date, created_at: at } = entry
  if (notify) await recordNotification(tx, { accountId, leadId: lead.id, subject, userId, date, entryId })
  const data = entryJson(entry, lead.reference)
  recordChange(tx, { accountId, lead, type: `${subject}.scheduled`, at, data })
  return Buffer.from(`{"data":${data}}`)
}

/** Stores an appointment or a callback and, with `notify`, the notification of its user. The lead's status stays. */
const schedule = async (
  deps: RecordingDeps,
  subject: Subject,
  asked: Appointment | undefined,
): Promise<Answer> => {
  validate({ [subject]: asked !== undefined })
  const { idempotency, reference } = asked!
  return recordingTransaction(deps, (tx) =>
    underKey(tx, idempotency, () => insertEntry(tx, subject, asked!), undefined, reference),
  )
}

/** interface: Schedule Appointment. */
export const scheduleAppointment = (deps: RecordingDeps) => (request: ScheduleAppointmentRequest) =>
  schedule(deps, 'appointment', request.appointment)

/** interface: Schedule Callback. */
export const scheduleCallback = (deps: RecordingDeps) => (request: ScheduleCallbackRequest) =>
  schedule(deps, 'callback', request.callback)

const listOf = (table: string) =>
  listRecords<EntryRow, ListAppointmentsRequest>(table, selectRecords(table, ENTRY_COLUMNS), entryJson)

export const listAppointments = listOf('appointments')
export const listCallbacks = listOf('callbacks')
