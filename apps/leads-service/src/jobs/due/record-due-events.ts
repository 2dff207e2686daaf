/*
 * Records the events `appointment.due` and `callback.due`. A row of `due_events` stands for an event that is
 * still to be recorded. `setDueEvent` writes and deletes the rows of entries that change. The invariants:
 *
 * - The row of an entry changes only in transactions that hold the lock on the lead of the entry, so two
 *   processes never record the same event.
 * - The transaction that deletes a row because the event is due also records the event, unless the entry is
 *   no longer open or has another date. It also sets `due_date` of the entry, so that the event is not
 *   recorded again for the same date.
 *
 * record-due-events.spec.ts proves the invariants.
 */
import { type OpenTransaction, type Round, splitIntoColumns, statement } from '@leadwire/service-kit'
import { recordNotification, type Subject } from '../../notifications/record-notification'
import { CHANGED_LEAD, type ChangedLead, recordChange } from '../../outbox/record-change'
import {
  type RecordingDeps,
  type RecordingTransaction,
  recordingTransaction,
} from '../../outbox/record-events'
import { isOpenEntry } from '../../scheduling/is-open-entry'
import { ENTRY_COLUMNS, type EntryRow, entryJson } from '../../scheduling/schedule'
import { setDueEvent } from '../../scheduling/set-due-event'
import { findDueAccounts } from './find-due-accounts'

/** The maximum number of events that one transaction records. */
const BATCH = 500

interface DueEvent {
  accountId: number
  leadId: number
  kind: Subject
  entryId: number
  /** The date of the entry when the row was written. */
  date: string
}

const COLUMNS = 'account_id AS "accountId", lead_id AS "leadId", kind, entry_id AS "entryId", date'

// LATERAL reads a range of the index due_events_of_account for each account.
const selectDue = statement<DueEvent>('due-events-of-accounts')`
  SELECT d.* FROM unnest($1::bigint[]) AS asked (account_id)
  CROSS JOIN LATERAL (
    SELECT ${COLUMNS} FROM due_events WHERE account_id = asked.account_id AND due_at <= $2
    ORDER BY due_at LIMIT $3
  ) d`

type LockedLead = ChangedLead & { accountId: number; id: number; erased: boolean; at: string }

// Skips leads that are being changed, because the change may move the event. The next round finds the rest.
const lockLeads = statement<LockedLead>('lock-leads-with-due-events')`
  SELECT l.account_id AS "accountId", l.id, l.erased_at IS NOT NULL AS erased, clock_timestamp() AS at,
    ${CHANGED_LEAD}
  FROM unnest($1::bigint[], $2::bigint[]) AS asked (account_id, id)
  CROSS JOIN LATERAL (
    SELECT * FROM leads WHERE account_id = asked.account_id AND id = asked.id FOR NO KEY UPDATE SKIP LOCKED
  ) l`

// OFFSET 0 makes PostgreSQL look up each row separately. Otherwise, PostgreSQL could read all rows of the
// table. A row has the same ctid until it is deleted, because rows are never updated.
const takeDue = statement<DueEvent>('take-due-events')`
  DELETE FROM due_events WHERE ctid = ANY (ARRAY (
    SELECT d.ctid FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS asked (account_id, kind, entry_id)
    CROSS JOIN LATERAL (
      SELECT ctid FROM due_events
      WHERE account_id = asked.account_id AND kind = asked.kind AND entry_id = asked.entry_id AND due_at <= $4
      OFFSET 0
    ) d
  ))
  RETURNING ${COLUMNS}`

type DueEntry = EntryRow & { accountId: number; leadId: number }

// An entry keeps its ctid during the statement, because its lead is locked.
const markEntries = (kind: Subject) => statement<DueEntry>(`mark-due-${kind}s`)`
  UPDATE ${kind}s AS t SET due_date = t.date WHERE ctid = ANY (ARRAY (
    SELECT e.ctid FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[]) AS asked (account_id, id, date)
    CROSS JOIN LATERAL (
      SELECT t.ctid FROM ${kind}s t
      WHERE t.account_id = asked.account_id AND t.id = asked.id AND t.date = asked.date
        AND t.due_date IS DISTINCT FROM t.date AND ${isOpenEntry('t')}
      OFFSET 0
    ) e
  ))
  RETURNING ${ENTRY_COLUMNS}, t.account_id AS "accountId", t.lead_id AS "leadId"`

const MARK = { appointment: markEntries('appointment'), callback: markEntries('callback') }

const makeKey = (accountId: number, id: number): string => `${accountId} ${id}`

/** Locks the leads of events in ascending order. Leaves out leads that another transaction has locked. */
const lockLeadsOf = async (tx: OpenTransaction, events: DueEvent[]): Promise<Map<string, LockedLead>> => {
  const wanted = new Map(events.map((event) => [makeKey(event.accountId, event.leadId), event]))
  const ordered = [...wanted.values()].sort((a, b) => a.accountId - b.accountId || a.leadId - b.leadId)
  const leads = await lockLeads(tx, ...splitIntoColumns(ordered, 'accountId', 'leadId'))
  return new Map(leads.map((lead) => [makeKey(lead.accountId, lead.id), lead]))
}

/** Records the event of an entry, and the reminder of the assigned user if the entry asks for one. */
const recordDue = async (
  tx: RecordingTransaction,
  kind: Subject,
  entry: DueEntry,
  lead: LockedLead,
): Promise<void> => {
  const { accountId, leadId, id: entryId, user_id: userId, date, remind } = entry
  const data = entryJson(entry, lead.reference)
  recordChange(tx, { accountId, lead, type: `${kind}.due`, at: lead.at, data })
  if (!remind) return
  await recordNotification(tx, { accountId, leadId, subject: `${kind}.due`, userId, date, entryId })
}

/** Records the events of entries of one kind, whose rows in `due_events` are deleted. */
const recordKind = async (
  tx: RecordingTransaction,
  kind: Subject,
  events: DueEvent[],
  leads: Map<string, LockedLead>,
): Promise<void> => {
  const entries = await MARK[kind](tx, ...splitIntoColumns(events, 'accountId', 'entryId', 'date'))
  for (const entry of entries)
    await recordDue(tx, kind, entry, leads.get(makeKey(entry.accountId, entry.leadId))!)
  // An older release changes entries without their rows in `due_events`. An entry that it has moved gets its
  // event for the new date.
  const recorded = new Set(entries.map(({ accountId, id }) => makeKey(accountId, id)))
  for (const { accountId, entryId } of events)
    if (!recorded.has(makeKey(accountId, entryId))) setDueEvent(tx, kind, { accountId, entryId })
}

/** Records due events of accounts. Resolves with the number of rows that it has deleted from `due_events`. */
const recordBatch = async (tx: RecordingTransaction, accountIds: number[], now: string): Promise<number> => {
  const limit = Math.floor(BATCH / accountIds.length)
  const found = await selectDue(tx, accountIds, now, limit)
  const leads = await lockLeadsOf(tx, found)
  const locked = found.filter(({ accountId, leadId }) => leads.has(makeKey(accountId, leadId)))
  const taken = await takeDue(tx, ...splitIntoColumns(locked, 'accountId', 'kind', 'entryId'), now)
  // An older release leaves the rows of leads that it erases.
  const live = taken.filter(({ accountId, leadId }) => !leads.get(makeKey(accountId, leadId))!.erased)
  for (const kind of ['appointment', 'callback'] as const) {
    const events = live.filter((event) => event.kind === kind)
    if (events.length > 0) await recordKind(tx, kind, events, leads)
  }
  return taken.length
}

/**
 * Creates the function that runs a round. A round records events that are due at `now`, which is a time by
 * PostgreSQL's clock. Each account with due events has the same share of the round. A round that records
 * nothing resolves with `pause` if events are due whose leads are being changed.
 */
export const createRecordDueEvents = (deps: RecordingDeps) => {
  let after = 0
  return async (now: string): Promise<Round> => {
    const found = await findDueAccounts(deps.database, { now, after })
    const { accountIds } = found
    after = found.after
    if (accountIds.length === 0) return after !== 0
    const taken = await recordingTransaction(deps, (tx) => recordBatch(tx, accountIds, now))
    return taken > 0 || after !== 0 || 'pause'
  }
}
