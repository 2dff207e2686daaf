import {
  attributeTerms,
  type CreateLead,
  Customer,
  customerJson,
  type Lead,
  LeadListItem,
  NewLead,
  snakeCase,
  type Upsert,
} from '@leadwire/contracts'
import { type OpenTransaction, statement } from '@leadwire/service-kit'
import { replaceSearchTerms } from '../../jobs/search/write-terms'
import { buildChangeEvent } from '../../outbox/record-change'
import { insertEvents, type OutboxEvent } from '../../outbox/record-events'
import { type FieldChange, fieldChanges, leadUpdated, recordLeadChange } from '../history/record-lead-change'
import { soldAt } from '../history/sold-at'
import { leadBody, matchError, renderLeadJson } from '../read/lead-response'
import { leadsFromColumns } from '../read/lead-rows'
import { insertAttributeTerms, insertQuotes, listColumns } from './insert-leads'
import type { LockedLead } from './lock-external-ids'
import { drawIds } from './number-leads'
import { loadReferences, type References, refuseLead } from './refuse-leads'
import { buildLead } from './render-lead'
import { mergeAttributes, type Outcome, type WriteLeadsDeps, type WrittenLead } from './write-new-leads'

const COLUMNS = [
  ...listColumns<Lead>(LeadListItem, (lead) => lead),
  ...listColumns<Lead>(Customer, ({ customer }) => customer),
]

/** Returns the parameter of a column in COLUMNS. */
const findParameter = (name: string): string => `$${COLUMNS.findIndex(([column]) => column === name) + 10}`

const UPDATE = `
  UPDATE leads SET version = version + 1, user_id = $3, test = $4, attributes = $5, external_id = $6,
    json_format = $7, json = $8, json_details = $9,
    sold_at = ${soldAt(findParameter('status'), findParameter('updated_at'))},
    ${COLUMNS.map(([column]) => `${column} = ${findParameter(column)}`)}
  WHERE account_id = $1 AND id = $2`

const deleteItems = statement('delete-quote-items')`
  DELETE FROM quote_items
  WHERE account_id = $1 AND quote_id = ANY (ARRAY (SELECT id FROM quotes WHERE account_id = $1 AND lead_id = $2))`

const deleteQuotes = statement('delete-quotes')`
  DELETE FROM quotes WHERE account_id = $1 AND lead_id = $2`

const deleteTerms = statement('delete-attributes')`
  DELETE FROM lead_attributes WHERE account_id = $1 AND number = $2 AND term = ANY ($3)`

/** The public names of the fields that search terms are made of (`Searched`). */
const SEARCHED = ['name', 'first_name', 'last_name', 'company_name', 'email', 'phone', 'mobile', 'postcode']

/** Maps the public name of each field that a create or a change may set to its name in NewLead. */
const SETTABLE = new Map(
  Object.keys(NewLead.create())
    .filter((name) => name !== 'createdAt')
    .map((name) => [snakeCase(name), name]),
)

/** Describes a stored lead as the request that would create it. */
const describeStored = (lead: Lead, found: LockedLead): Partial<NewLead> => {
  const { marked, userId, attributes, externalId } = found
  const shown: Record<string, unknown> = { ...lead.customer, ...lead }
  const settable = [...SETTABLE].filter(([field]) => field in shown)
  return {
    ...Object.fromEntries(settable.map(([field, name]) => [name, shown[field] ?? undefined])),
    test: marked,
    userId: userId ?? undefined,
    attributes: attributes ?? undefined,
    externalId: externalId ?? undefined,
    quotes: lead.quotes.map(({ status, items }) => ({
      status,
      items: items.map((item) => ({
        productStyleId: item.product_style_id,
        name: item.name,
        price: item.price,
        cost: item.cost ?? undefined,
        margin: item.margin ?? undefined,
        tax: item.tax ?? undefined,
        minimum: item.minimum ?? undefined,
        maximum: item.maximum ?? undefined,
        format: item.format,
        hidden: item.hidden === 1,
        status: item.status,
        productStyleSku: item.product_style.sku,
        productStyleName: item.product_style.name,
        productName: item.product_style.product.name,
        imageId: item.image.id,
        options: item.options,
      })),
    })),
  }
}

/**
 * Returns `before`, but with the values of `asked` in the fields that the request gives. `given` lists the
 * public names of these fields.
 */
const mergeFields = (before: Partial<NewLead>, asked: NewLead, given: string[]): Partial<NewLead> => {
  const names = (Object.keys(before) as (keyof NewLead)[]).filter((name) => given.includes(snakeCase(name)))
  const set = Object.fromEntries(names.map((name) => [name, asked[name]]))
  if ('attributes' in set) set['attributes'] = mergeAttributes(before.attributes, asked.attributes)
  const after: Partial<NewLead> = { ...before, ...set }
  // A lead with the status `test` is shown with `test: 1`, even if it is not marked as a test. A request that
  // sends the shown value back must not mark the lead.
  if (before.status === 'test' && after.status === 'test' && after.test) after.test = before.test ?? false
  return after
}

/** A locked lead, and the request that changes the lead. */
interface Change {
  item: CreateLead
  upsert: Upsert
  found: LockedLead
  /** The list that gets the event. undefined if no event is recorded. */
  events: OutboxEvent[] | undefined
}

/**
 * Returns the stored values of the fields that no request can set, such as the IP address. A lead that is
 * built from a request has null in these fields.
 */
const keepUnsettable = <Part extends object>(built: Part, before: Part): Partial<Part> => {
  const kept = Object.entries(before).filter(([name]) => {
    const isNull = (built[name as keyof Part] ?? null) === null
    // `mobile_link` is built from `mobile`, so it must stay null if the request clears `mobile`.
    return isNull && !SETTABLE.has(name) && name !== 'mobile_link'
  })
  return Object.fromEntries(kept) as Partial<Part>
}

/**
 * Builds the changed lead from `whole`, a request that would create the lead as it is after the change. If
 * the quotes do not change, `whole` has no quotes, and the caller adds the stored quotes to the result.
 */
const buildChangedLead = async (
  tx: OpenTransaction,
  whole: CreateLead,
  { before, found, references }: { before: Lead; found: LockedLead; references: References },
): Promise<Lead> => {
  const { id, number, accountKey, now } = found
  const drawn = await drawIds(tx, whole)
  const stamp = { ...drawn, id, number, accountKey, customerId: before.customer.id, createdAt: now }
  const built = buildLead(whole, stamp, references)
  const { created_at } = before.customer
  return {
    ...built,
    ...keepUnsettable(built, before),
    reference: before.reference,
    type: before.type,
    created_at,
    customer: { ...built.customer, ...keepUnsettable(built.customer, before.customer), created_at },
  }
}

const replaceQuotes = (tx: OpenTransaction, accountId: number, lead: Lead): void => {
  deleteItems.send(tx, accountId, lead.id)
  deleteQuotes.send(tx, accountId, lead.id)
  insertQuotes(
    tx,
    lead.quotes.map((record) => ({ accountId, record })),
  )
}

const replaceAttributeTerms = (
  tx: OpenTransaction,
  accountId: number,
  { number, attributes }: LockedLead,
  after: string | undefined,
): void => {
  const terms = attributeTerms(after)
  const removed = attributeTerms(attributes).filter((term) => !terms.includes(term))
  deleteTerms.send(tx, accountId, number, removed)
  insertAttributeTerms(
    tx,
    terms.map((term) => ({ accountId, number, term })),
  )
}

/** Returns the JSON of a changed lead's customer. Returns undefined if the customer has not changed. */
const renderChangedCustomer = (before: Lead, after: Lead): string | undefined => {
  const json = customerJson(after.customer)
  return json === customerJson(before.customer) ? undefined : json
}

const recordUpdated = (
  tx: OpenTransaction,
  { item, upsert, found, events }: Change,
  changed: {
    lead: Lead
    json: string
    customer: string | undefined
    changes: FieldChange[]
    attributes: string | undefined
    references: References
  },
): void => {
  if (!events) return
  const { accountId, traceparent } = item
  const { lead, json, customer, changes, attributes = null, references } = changed
  const isReassigned = upsert.given.includes('user_id')
  const event = buildChangeEvent({
    accountId,
    lead: {
      ...lead,
      test: lead.test === 1,
      version: found.version + 1,
      api_key: found.accountKey,
      user_email: isReassigned ? (references.findUserEmail(item) ?? null) : found.userEmail,
    },
    ...leadUpdated(json, changes, customer),
    at: found.now,
    attributes,
    traceparent,
  })
  insertEvents(tx, [event])
  events.push(event)
}

/**
 * Sets the given fields of a locked lead. Raises the version, and records history and event, as Update Lead
 * does. If the customer changes, the event has the customer. Writes nothing if the request changes nothing.
 * Locks the search progress if a searched field changes. Before a request gives the lead another external id,
 * the caller must check that no other lead has this id.
 */
export const changeLead = async (
  deps: WriteLeadsDeps,
  tx: OpenTransaction,
  change: Change,
): Promise<Outcome> => {
  const { item, upsert, found } = change
  const { accountId, actor } = item
  const { assetsUrl, jsonFormat, limits } = deps
  const references = await loadReferences(tx, [item], assetsUrl)
  const leads = await leadsFromColumns(tx, new Map([[found.id, { accountId }]]), assetsUrl)
  const lead = leads.get(found.id)!

  const before = describeStored(lead, found)
  const after = mergeFields(before, item.lead!, upsert.given)
  const changes = await fieldChanges(tx, accountId, before, after)
  const fields = changes.map(({ field }) => field)
  const hasNewQuotes = fields.includes('quotes')
  const quotes = hasNewQuotes ? after.quotes! : []
  const whole: CreateLead = { ...item, lead: { ...item.lead!, ...after, userId: item.lead!.userId, quotes } }

  const refusal = changes.length > 0 ? refuseLead(item, references, limits, whole) : undefined
  // Checks If-Match last, because a request that is refused for another reason must get the error for that
  // reason (RFC 9110, 13.2.1).
  const mismatch = refusal ?? matchError(upsert.ifMatch, found.version)
  if (mismatch) return mismatch
  const describeWritten = (shown: Lead, version: number): WrittenLead => ({
    body: leadBody(renderLeadJson(shown, jsonFormat)),
    version,
    created: false,
    replayed: false,
    reference: shown.reference,
  })
  if (changes.length === 0) return describeWritten(lead, found.version)

  const changed = await buildChangedLead(tx, whole, { before: lead, found, references })
  if (!hasNewQuotes) changed.quotes = lead.quotes
  const json = renderLeadJson(changed, jsonFormat)
  const values = [
    accountId,
    found.id,
    after.userId ?? null,
    after.test ?? null,
    after.attributes ?? null,
    after.externalId ?? null,
    json.format,
    json.item,
    json.details,
    ...COLUMNS.map(([, , read]) => read(changed)),
  ]
  tx.send({ name: 'change-lead', text: UPDATE, values })
  if (hasNewQuotes) replaceQuotes(tx, accountId, changed)
  if (fields.includes('attributes')) replaceAttributeTerms(tx, accountId, found, after.attributes)
  const version = found.version + 1
  recordLeadChange(tx, { accountId, leadId: found.id, version, actor, changes, at: found.now })
  recordUpdated(tx, change, {
    lead: changed,
    json: json.item,
    customer: renderChangedCustomer(lead, changed),
    changes,
    attributes: after.attributes,
    references,
  })
  if (fields.some((field) => SEARCHED.includes(field))) await replaceSearchTerms(tx, accountId, found.number)
  return describeWritten(changed, version)
}
