import {
  Customer,
  eventBody,
  fieldsOf,
  LeadListItem,
  ManagedFields,
  Quote,
  QuoteItem,
} from '@leadwire/contracts'
import {
  activeTraceparent,
  type OpenTransaction,
  recordAudit,
  statement,
  within,
} from '@leadwire/service-kit'
import type { TObject } from '@sinclair/typebox'
import { isActor, isId, isOptional, validate } from '../../arguments'
import { insertTogether } from '../../database/inserter'
import { recordLeadChange } from '../../leads/history/record-lead-change'
import { leadJsonOf } from '../../leads/read/lead-response'
import { leadsFromColumns, requireLead } from '../../leads/read/lead-rows'
import type { Dependencies, Operation } from '../../operation'
import { leadEvent } from '../../outbox/lead-event'
import { CHANGED_LEAD, type ChangedLead } from '../../outbox/record-change'
import { eventsOf } from '../../outbox/record-events'
import { lockProgress } from '../search/write-terms'
import { retrieveErasure } from './retrieve-erasure'
import { type ErasedPlace, type LooseEvent, PLACES } from './run-erasures'

interface LockedLead extends ChangedLead {
  id: number
  erased: boolean
  now: string
  heldUntil: string
}

// FOR UPDATE, for which those wait that add something to the lead (`lock-lead.ts`). The clock is read when the row is locked, so
// that the transaction has its id before: change-horizon.ts counts on it.
const lockLead = statement<LockedLead>('lock-lead-to-erase')`
  SELECT id, erased_at IS NOT NULL AS erased, greatest(clock_timestamp(), updated_at) AS now,
    clock_timestamp() + interval '1 day' AS "heldUntil", ${CHANGED_LEAD}
  FROM (SELECT * FROM leads WHERE reference = $2 AND account_id = $1 FOR UPDATE) l`

const OF_LEAD = 'account_id = $1 AND lead_id = $2'

const ofLead = (column: string) => `(SELECT ${column} FROM leads WHERE account_id = $1 AND id = $2)`

/** Empties the personal fields of a record: texts that must be there become empty, the others NULL. */
const emptied = (record: TObject): string[] =>
  fieldsOf(record)
    .filter(({ personal }) => personal)
    .map(({ column, nullable }) => `${column} = ${nullable ? 'NULL' : "''"}`)

/**
 * Every place of personal data in this service's database, beside the outbox: a further one is a further entry. What is countable
 * stays: numbers, references, times, prices, and words of which there are only a few (status, referrer, type).
 */
const ERASED_ROWS = {
  // Before the lead loses what they are of.
  attributes: `
    DELETE FROM lead_attributes WHERE account_id = $1 AND number = ${ofLead('number')} AND term = ANY (ARRAY (
      SELECT a.key || ':' || a.value FROM leads, json_each_text(attributes) a WHERE account_id = $1 AND id = $2
    ))`,
  customer: `UPDATE leads SET ${emptied(Customer)} WHERE account_id = $1 AND id = $2`,
  // Afterwards its external id may be another lead's.
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
  // The rows are the list of what is to be deleted from the object store, and go with it.
  attachments: `UPDATE attachments SET name = '', file_name = '' WHERE ${OF_LEAD}`,
  search_words: `DELETE FROM lead_search WHERE account_id = $1 AND number = ${ofLead('number')}`,
  idempotency_answers: `
    DELETE FROM idempotency_keys
    WHERE (lead_reference = ${ofLead('reference')} OR lead_references @> ARRAY[${ofLead('reference')}])
      AND token_id IN (SELECT id FROM tokens WHERE account_id = $1)`,
}

// An event that the relay is publishing is waited for.
const TAKE_EVENTS = `
  DELETE FROM outbox WHERE lead_reference = $2 AND account_id = $1 RETURNING event_id AS id, sequence`

const SEAL = `
  UPDATE leads SET erased_at = $3, updated_at = $3, version = version + 1, json_format = $4, json = $5, json_details = $6
  WHERE account_id = $1 AND id = $2`

const INSERT = `
  INSERT INTO erasures (account_id, lead_id, requested_at, places, events, event_id, due_at, confirm_at)
  VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp())`

const eraseRows = async (tx: OpenTransaction, accountId: number, lead: LockedLead) => {
  // Who has read the lead to write its words has committed them then, or waits and reads it empty: none come back.
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
  return { places, events }
}

/**
 * Records the event `lead.erased`. The job (`run-erasures.ts`) has it published when all other events of the lead are erased, so that it
 * is the last. The sweep would publish it after a day: a copy of the previous release does the job without releasing it.
 */
const recordErased = (tx: OpenTransaction, accountId: number, lead: LockedLead): string => {
  const event = leadEvent({
    ...{ accountId, accountKey: lead.api_key, at: lead.now },
    type: 'lead.erased',
    lead: { ...lead, version: lead.version + 1 },
    traceparent: activeTraceparent(),
    body: eventBody('lead.erased', JSON.stringify({ reference: lead.reference })),
  })
  insertTogether(tx, [eventsOf([{ ...event, publishedAt: lead.heldUntil }])])
  return event.eventId
}

const erase = async (tx: OpenTransaction, accountId: number, lead: LockedLead, deps: Dependencies) => {
  const { actor } = deps
  const { places, events } = await eraseRows(tx, accountId, lead)
  const { id: leadId, now: at } = lead
  const leads = await leadsFromColumns(tx, new Map([[leadId, { accountId }]]), deps.assetsUrl)
  const json = leadJsonOf({ ...leads.get(leadId)!, updated_at: at }, deps.jsonFormat)
  tx.send({ text: SEAL, values: [accountId, leadId, at, json.format, json.item, json.details] })
  recordLeadChange(tx, {
    ...{ accountId, leadId, version: lead.version + 1, actor, changes: [], at },
    action: 'erased',
  })
  recordAudit(tx, actor, { accountId, action: 'lead.erased', targetId: leadId })
  const waiting = PLACES.flatMap(({ store, erases }) =>
    erases.map((what): ErasedPlace => ({ store, what, count: null, erased_at: null })),
  )
  const receipt = [JSON.stringify([...places, ...waiting]), JSON.stringify(events)]
  const eventId = recordErased(tx, accountId, lead)
  tx.send({ text: INSERT, values: [accountId, leadId, at, ...receipt, eventId] })
}

/**
 * Erases the personal data of a lead: here at once, elsewhere by a job (`run-erasures.ts`), whose state is in the receipt. Number,
 * reference, status, value and times stay. Erased before: the same receipt. Throws not_found.
 */
export const eraseLead: Operation<'eraseLead'> = (deps, request) =>
  deps.database.transaction(async (tx) => {
    const { accountId } = request
    validate({ account_id: isId(accountId), actor: isOptional(deps.actor, isActor) })
    const lead = await requireLead(tx, lockLead, request)
    if (!lead.erased) await erase(tx, accountId, lead, deps)
    return retrieveErasure({ ...deps, database: within(tx) }, request)
  })
