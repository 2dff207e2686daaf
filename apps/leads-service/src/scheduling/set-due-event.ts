import { type OpenTransaction, statement } from '@leadwire/service-kit'
import type { Subject } from '../notifications/record-notification'
import { isOpenEntry } from './is-open-entry'

const remove = statement('remove-due-event')`
  DELETE FROM due_events WHERE account_id = $1 AND kind = $2 AND entry_id = $3`

// Adds no row for a time that has passed, and none for a date whose event was recorded before.
const add = (subject: Subject) => statement(`add-due-event-of-${subject}`)`
  INSERT INTO due_events (account_id, kind, entry_id, lead_id, date, due_at)
  SELECT account_id, '${subject}', id, lead_id, date, due_at
  FROM (
    SELECT t.*, t.date - make_interval(mins => a.${subject}_due_minutes) AS due_at
    FROM ${subject}s t JOIN accounts a ON a.id = t.account_id
    WHERE t.account_id = $1 AND t.id = $2 AND ${isOpenEntry('t')}
  ) entry
  WHERE due_at > clock_timestamp() AND due_date IS DISTINCT FROM date`

const ADD = { appointment: add('appointment'), callback: add('callback') }

/**
 * Sets when the event `appointment.due` or `callback.due` of an entry is recorded, from the date of the entry
 * and the present lead time of the account. An entry that is done or cancelled gets no event. Call this
 * function in each transaction that adds an entry, changes its date, marks it as done, opens it again or
 * cancels it. The lead of the entry must be locked.
 */
export const setDueEvent = (
  tx: OpenTransaction,
  subject: Subject,
  { accountId, entryId }: { accountId: number; entryId: number },
): void => {
  remove.send(tx, accountId, subject, entryId)
  ADD[subject].send(tx, accountId, entryId)
}

const removeOfLead = statement('remove-due-events-of-lead')`
  DELETE FROM due_events WHERE account_id = $1 AND lead_id = $2`

/** Removes the events of all entries of a locked lead. */
export const removeDueEvents = (tx: OpenTransaction, accountId: number, leadId: number): void =>
  removeOfLead.send(tx, accountId, leadId)
