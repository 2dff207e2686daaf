import {
  Customer,
  eventBody,
  LeadListItem,
  listFields,
  ManagedFields,
  Quote,
  QuoteItem,
} from '@leadwire/contracts'
import { activeTraceparent, type OpenTransaction, recordAudit, statement } from '@leadwire/service-kit'
import type { TObject } from '@sinclair/typebox'
import { recordLeadChange } from '../../leads/history/record-lead-change'
import { renderLeadJson } from '../../leads/read/lead-response'
import { leadsFromColumns, requireLead } from '../../leads/read/lead-rows'
import type { Dependencies, Operation } from '../../operation'
import { CHANGED_LEAD, type ChangedLead } from '../../outbox/record-change'
import { buildLeadEvent, parkEvents } from '../../outbox/record-events'
import { lockProgress } from '../search/write-terms'
import { cancelEntries } from './cancel-entries'
import { retrieveErasure } from './retrieve-erasure'
import { type ErasedPlace, type LooseEvent, PLACES } from './run-erasures'

interface LockedLead extends ChangedLead {
  id: number
  erased: boolean
  now: string
}

// FOR UPDATE also blocks transactions that only add a record to the lead (`lock-lead.ts`). Locking the row
// gives this transaction its transaction id, and the clock is read afterwards. change-horizon.ts relies on
// this order.
export const lockLead = statement<LockedLead>('lock-lead-to-erase')`
  SELECT id, erased_at IS NOT NULL AS erased, greatest(clock_timestamp(), updated_at) AS now, ${CHANGED_LEAD}
  FROM (SELECT * FROM leads WHERE reference = $2 AND account_id = $1 FOR UPDATE) l`

const OF_LEAD = 'account_id = $1 AND lead_id = $2'

const selectLeadColumn = (column: string) => `(SELECT ${column} FROM leads WHERE account_id = $1 AND id = $2)`

/**
 * Lists the assignments that empty the personal fields of a record: '' for a text that cannot be NULL,
 * otherwise NULL.
 */
const emptied = (record: TObject): string[] =>
  listFields(record)
    .filter(({ personal }) => personal)
    .map(({ column, nullable }) => `${column} = ${nullable ? 'NULL' : "''"}`)

/**
 * The statements that erase personal data in this service's database, except the lead's events in the outbox
 * (`TAKE_EVENTS`) and the refused rows of imports (`ERASE_IMPORT_ROWS`). Personal data in a new table needs a
 * new statement. Numbers, references, times, prices and enumerated values (status, referrer, type) stay.
 */
const ERASED_ROWS = {
  // Must run before the entry `lead`, which empties the attributes that this statement reads.
  attributes: `
    DELETE FROM lead_attributes WHERE account_id = $1 AND number = ${selectLeadColumn('number')} AND term = ANY (ARRAY (
      SELECT a.key || ':' || a.value FROM leads, json_each_text(attributes) a WHERE account_id = $1 AND id = $2
    ))`,
  customer: `UPDATE leads SET ${emptied(Customer)} WHERE account_id = $1 AND id = $2`,
  // One of the personal fields is the external id. Once it is cleared, another lead may use the same id.
  lead: `UPDATE leads SET ${emptied(LeadListItem)}, ${emptied(ManagedFields)}, attributes = NULL, created_by_request_id = NULL,
    duplicate_of_id = NULL, status_before_duplicate = NULL WHERE account_id = $1 AND id = $2`,
  quotes: `UPDATE quotes SET ${emptied(Quote)} WHERE ${OF_LEAD}`,
  quote_items: `
    UPDATE quote_items SET ${emptied(QuoteItem)}, options = '{}', product_style_sku = '', product_style_name = '',
      product_name = ''
    WHERE account_id = $1 AND quote_id = ANY (ARRAY (SELECT id FROM quotes WHERE ${OF_LEAD}))`,
  history: `
    UPDATE lead_changes SET request_id = NULL, changes = (
      SELECT coalesce(json_agg(json_build_object('field', c -> 'field', 'from', NULL, 'to', NULL)), '[]')
      FROM json_array_elements(changes) AS c
    )
    WHERE ${OF_LEAD}`,
  // Keeps the rows, because the job (`run-erasures.ts`) needs them to find the files in the object store. The
  // job then deletes both the files and the rows.
  attachments: `UPDATE attachments SET name = '', file_name = '' WHERE ${OF_LEAD}`,
  notes: `DELETE FROM notes WHERE ${OF_LEAD}`,
  search_terms: `DELETE FROM lead_search WHERE account_id = $1 AND number = ${selectLeadColumn('number')}`,
  idempotency_answers: `
    DELETE FROM idempotency_keys
    WHERE (lead_reference = ${selectLeadColumn('reference')} OR lead_references @> ARRAY[${selectLeadColumn('reference')}])
      AND token_id IN (SELECT id FROM tokens WHERE account_id = $1)`,
}

// If a check of the outbox has locked the rows, waits for this check, which may be publishing the events.
const TAKE_EVENTS = `
  DELETE FROM outbox WHERE lead_reference = $2 AND account_id = $1 RETURNING event_id AS id`

// Empties the refused rows of all imports of the account, because a refused row does not reliably name its
// person.
const ERASE_IMPORT_ROWS = `
  WITH erased AS (UPDATE import_errors SET source = NULL WHERE account_id = $1 AND source IS NOT NULL RETURNING 1)
  SELECT count(*)::int AS count FROM erased`

const SEAL = `
  UPDATE leads SET erased_at = $3, updated_at = $3, version = version + 1, json_format = $4, json = $5, json_details = $6
  WHERE account_id = $1 AND id = $2`

const INSERT = `
  INSERT INTO erasures (account_id, lead_id, requested_at, places, events, event_id, due_at)
  VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())`

interface EraseDeps extends Pick<Dependencies, 'actor' | 'assetsUrl' | 'jsonFormat'> {
  /** Whether the refused rows of imports are emptied, too (`ERASE_IMPORT_ROWS`). */
  erasesImportRows: boolean
}

const eraseRows = async (
  tx: OpenTransaction,
  accountId: number,
  lead: LockedLead,
  { erasesImportRows }: Pick<EraseDeps, 'erasesImportRows'>,
) => {
  // Locks the search progress first. An indexer has then either committed this lead's terms and events,
  // which are deleted below, or will read the erased row.
  await lockProgress(tx, accountId, { skip: false })
  const places: ErasedPlace[] = []
  const erased = (what: string, count: number) =>
    places.push({ store: 'postgresql', what, count, erased_at: lead.now })
  for (const [what, text] of Object.entries(ERASED_ROWS)) {
    const counted = `WITH erased AS (${text} RETURNING 1) SELECT count(*)::int AS count FROM erased`
    const [row] = await tx.query<{ count: number }>({ text: counted, values: [accountId, lead.id] })
    erased(what, row!.count)
  }
  const events = await tx.query<LooseEvent>({ text: TAKE_EVENTS, values: [accountId, lead.reference] })
  erased('outbox_events', events.length)
  if (erasesImportRows) {
    const [rows] = await tx.query<{ count: number }>({ text: ERASE_IMPORT_ROWS, values: [accountId] })
    erased('import_rows', rows!.count)
  }
  return { places, events }
}

/**
 * Records the event `lead.erased`. The job (`run-erasures.ts`) releases the event after it has erased or
 * published all other events of the lead, so that `lead.erased` is the last event.
 */
const recordErased = (tx: OpenTransaction, accountId: number, lead: LockedLead): string => {
  const event = buildLeadEvent({
    accountId,
    accountKey: lead.api_key,
    at: lead.now,
    type: 'lead.erased',
    lead: { ...lead, version: lead.version + 1 },
    traceparent: activeTraceparent(),
    body: eventBody('lead.erased', JSON.stringify({ reference: lead.reference })),
  })
  parkEvents(tx, [event])
  return event.eventId
}

/**
 * Erases the personal data of a locked lead in this database, and records the erasure, which the job
 * (`run-erasures.ts`) continues.
 */
export const erase = async (
  tx: OpenTransaction,
  accountId: number,
  lead: LockedLead,
  deps: EraseDeps,
): Promise<void> => {
  const { actor } = deps
  const { places, events } = await eraseRows(tx, accountId, lead, deps)
  const { id: leadId, now: at } = lead
  const leads = await leadsFromColumns(tx, new Map([[leadId, { accountId }]]), deps.assetsUrl)
  const json = renderLeadJson({ ...leads.get(leadId)!, updated_at: at }, deps.jsonFormat)
  tx.send({ text: SEAL, values: [accountId, leadId, at, json.format, json.item, json.details] })
  recordLeadChange(tx, {
    accountId,
    leadId,
    version: lead.version + 1,
    actor,
    changes: [],
    at,
    action: 'erased',
  })
  recordAudit(tx, actor, { accountId, action: 'lead.erased', targetId: leadId })
  const waiting = PLACES.flatMap(({ store, erases }) =>
    erases.map((what): ErasedPlace => ({ store, what, count: null, erased_at: null })),
  )
  const cancellations = await cancelEntries(tx, accountId, lead)
  const eventId = recordErased(tx, accountId, lead)
  const kept = cancellations.map((id): LooseEvent => ({ id, kept: true }))
  const receipt = [JSON.stringify([...places, ...waiting]), JSON.stringify([...events, ...kept])]
  tx.send({ text: INSERT, values: [accountId, leadId, at, ...receipt, eventId] })
}

/**
 * Erases the personal data of a lead. The data in this database is erased at once, all other data by a job
 * (`run-erasures.ts`). Number, reference, status, value and times stay. Returns the receipt, even if the lead
 * was erased before. Throws `not_found` if there is no such lead.
 */
export const eraseLead: Operation<'eraseLead'> = async (deps, request) => {
  const { accountId } = request
  await deps.database.transaction(async (tx) => {
    const lead = await requireLead(tx, lockLead, request)
    if (!lead.erased) await erase(tx, accountId, lead, { ...deps, erasesImportRows: true })
  })
  // Reads the receipt after the transaction, because the receipt needs a call to webhook-service, and a
  // transaction should not wait for a call.
  return retrieveErasure(deps, request)
}
