import type { Appointment } from '@leadwire/contracts'
import { type Database, isUnfitTime, type OpenTransaction, ServiceError } from '@leadwire/service-kit'
import { demand, isId, isUuid } from '../arguments'
import { type Answer, underKey } from '../idempotency/idempotency-keys'
import { leadNotFound } from '../leads/lead-result'
import { recordNotification } from '../notifications/record-notification'
import { ENTRY_COLUMNS, type EntryRow, entryJson } from './entry-row'

type Subject = 'appointment' | 'callback'

// PostgreSQL would also read words such as infinity.
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z$/

const FIND = `
  SELECT l.id, l.reference, EXISTS (SELECT 1 FROM users WHERE account_id = $1 AND id = $3 AND removed_at IS NULL) AS user_known
  FROM leads l WHERE l.reference = $2 AND l.account_id = $1`

const insertInto = (subject: Subject) => `
  INSERT INTO ${subject}s AS t (account_id, lead_id, user_id, date, notify) VALUES ($1, $2, $3, $4, $5)
  RETURNING ${ENTRY_COLUMNS}`

const insertEntry = async (tx: OpenTransaction, subject: Subject, asked: Appointment): Promise<Buffer> => {
  const { accountId, userId, notify } = asked
  demand({ account_id: isId(accountId), user_id: isId(userId), date: INSTANT.test(asked.date) })
  if (!isUuid(asked.reference)) throw leadNotFound()
  const [lead] = await tx.query<{ id: number; reference: string; user_known: boolean }>({
    name: 'find-scheduled-lead',
    text: FIND,
    values: [accountId, asked.reference, userId],
  })
  if (!lead) throw leadNotFound()
  if (!lead.user_known) throw ServiceError.invalid({ user_id: ['The selected user id is invalid.'] })
  const [entry] = await tx.query<EntryRow>({
    name: `schedule-${subject}`,
    text: insertInto(subject),
    values: [accountId, lead.id, userId, asked.date, notify],
  })
  const { id: entryId, date } = entry!
  if (notify) await recordNotification(tx, { accountId, leadId: lead.id, subject, userId, date, entryId })
  return Buffer.from(`{"data":${entryJson(entry!, lead.reference)}}`)
}

/** Stores an appointment or a callback, and, with `notify`, that its user is to be told. The lead's status stays. */
export const schedule = async (
  deps: { database: Database },
  subject: Subject,
  asked: Appointment | undefined,
): Promise<Answer> => {
  demand({ [subject]: asked !== undefined })
  const { idempotency } = asked!
  try {
    return await deps.database.transaction((tx) =>
      underKey(tx, idempotency, () => insertEntry(tx, subject, asked!)),
    )
  } catch (error) {
    throw isUnfitTime(error) ? ServiceError.invalid({ date: ['The date is not a valid date.'] }) : error
  }
}
