import type { Appointment, ListAppointmentsRequest } from '@leadwire/contracts'
import { type Answer, type Database, isInvalidTime, ServiceError } from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import { underKey } from '../idempotency/idempotency-keys'
import { lockLead } from '../leads/history/lock-lead'
import { listRecords } from '../leads/read/lead-records'
import { recordNotification } from '../notifications/record-notification'
import { recordChange } from '../outbox/record-change'
import { type RecordingDeps, type RecordingTransaction, recordingTransaction } from '../outbox/record-events'

type Subject = 'appointment' | 'callback'

// PostgreSQL would also read words such as infinity.
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z$/

const FIND_USER = 'SELECT id FROM users WHERE account_id = $1 AND id = $2 AND removed_at IS NULL'

/** What is read of an appointment or a callback. */
export const ENTRY_COLUMNS = 't.id, t.user_id, t.date, t.notify, t.created_at'

interface EntryRow {
  id: number
  user_id: number
  date: string
  notify: boolean
  created_at: string
}

const entryJson = ({ id, ...others }: EntryRow, leadReference: string): string =>
  JSON.stringify({ id, lead_reference: leadReference, ...others })

const insertInto = (subject: Subject) => `
  INSERT INTO ${subject}s AS t (account_id, lead_id, user_id, date, notify) VALUES ($1, $2, $3, $4, $5)
  RETURNING ${ENTRY_COLUMNS}`

const insertEntry = async (
  tx: RecordingTransaction,
  subject: Subject,
  asked: Appointment,
): Promise<Buffer> => {
  const { accountId, userId, notify } = asked
  validate({ account_id: isId(accountId), user_id: isId(userId), date: INSTANT.test(asked.date) })
  const lead = await lockLead(tx, asked)
  const [user] = await tx.query<object>({
    name: 'find-scheduled-user',
    text: FIND_USER,
    values: [accountId, userId],
  })
  if (!user) throw ServiceError.invalid({ user_id: ['The selected user id is invalid.'] })
  const [entry] = await tx.query<EntryRow>({
    name: `schedule-${subject}`,
    text: insertInto(subject),
    values: [accountId, lead.id, userId, asked.date, notify],
  })
  const { id: entryId, date, created_at: at } = entry!
  if (notify) await recordNotification(tx, { accountId, leadId: lead.id, subject, userId, date, entryId })
  const data = entryJson(entry!, lead.reference)
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
  try {
    return await recordingTransaction(deps, (tx) =>
      underKey(tx, idempotency, () => insertEntry(tx, subject, asked!), undefined, reference),
    )
  } catch (error) {
    throw isInvalidTime(error) ? ServiceError.invalid({ date: ['The date is not a valid date.'] }) : error
  }
}

/** interface: Schedule Appointment. */
export const scheduleAppointment =
  (deps: RecordingDeps) =>
  ({ appointment }: { appointment?: Appointment | undefined }) =>
    schedule(deps, 'appointment', appointment)

/** interface: Schedule Callback. */
export const scheduleCallback =
  (deps: RecordingDeps) =>
  ({ callback }: { callback?: Appointment | undefined }) =>
    schedule(deps, 'callback', callback)

const entriesOf =
  (subject: Subject) =>
  ({ database }: { database: Database }) =>
  (request: ListAppointmentsRequest) =>
    listRecords(database, { table: `${subject}s`, columns: ENTRY_COLUMNS, jsonOf: entryJson }, request)

/** A lead's appointments and callbacks, newest first. */
export const listAppointments = entriesOf('appointment')
export const listCallbacks = entriesOf('callback')
