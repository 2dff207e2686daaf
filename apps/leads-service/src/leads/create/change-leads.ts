import {
  attributeTerms,
  type CreateLead,
  Customer,
  type Lead,
  LeadListItem,
  NewLead,
  snakeCase,
} from '@leadwire/contracts'
import { type OpenTransaction, type ServiceError, statement } from '@leadwire/service-kit'
import { columnsOf, insertTogether } from '../../database/inserter'
import { lockProgress, writeTerms } from '../../jobs/search/write-terms'
import { changeEvent } from '../../outbox/record-change'
import { eventsOf, type OutboxEvent } from '../../outbox/record-events'
import { fieldChanges, leadUpdated, recordLeadChange } from '../history/record-lead-change'
import { type JsonSettings, leadBody, leadJsonOf, matchError } from '../read/lead-response'
import { leadsFromColumns } from '../read/lead-rows'
import { buildLead } from './build-lead'
import type { LockedLead } from './external-ids'
import { quoteInsertsOf, termsOf } from './insert-leads'
import { drawIds } from './number-leads'
import type { References } from './references'

const COLUMNS = [
  ...columnsOf<Lead>(LeadListItem, (lead) => lead),
  ...columnsOf<Lead>(Customer, ({ customer }) => customer),
]

const UPDATE = `
  UPDATE leads SET version = version + 1, user_id = $3, test = $4, attributes = $5, json_format = $6, json = $7,
    json_details = $8, ${COLUMNS.map(([column], index) => `${column} = $${index + 9}`)}
  WHERE account_id = $1 AND id = $2`

const DELETE_QUOTES = [
  `DELETE FROM quote_items
   WHERE account_id = $1 AND quote_id = ANY (ARRAY (SELECT id FROM quotes WHERE account_id = $1 AND lead_id = $2))`,
  'DELETE FROM quotes WHERE account_id = $1 AND lead_id = $2',
]

const deleteTerms = statement('delete-attributes')`
  DELETE FROM lead_attributes WHERE account_id = $1 AND number = $2 AND term = ANY ($3)`

/** The fields that a lead is found by (`Searched`). */
const SEARCHED = ['name', 'first_name', 'last_name', 'company_name', 'email', 'phone', 'mobile', 'postcode']

/** What a create may set, by its public name. */
const SETTABLE = new Map(Object.keys(NewLead.create()).map((name) => [snakeCase(name), name]))

/** What makes a lead as it is. */
const newLeadOf = (lead: Lead, { marked, userId, attributes }: LockedLead): Partial<NewLead> => {
  const shown: Record<string, unknown> = { ...lead.customer, ...lead }
  const settable = [...SETTABLE].filter(([field]) => field in shown)
  return {
    ...Object.fromEntries(settable.map(([field, name]) => [name, shown[field] ?? undefined])),
    test: marked,
    userId: userId ?? undefined,
    attributes: attributes ?? undefined,
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

/** Attributes with those of an upsert: null removes one (RFC 7396). JSON texts; undefined: none. */
export const mergeAttributes = (
  before: string | undefined,
  asked: string | undefined,
): string | undefined => {
  if (asked === undefined) return undefined
  const merged = { ...JSON.parse(before ?? '{}'), ...JSON.parse(asked) }
  const kept = Object.entries(merged).filter(([, value]) => value !== null)
  return kept.length > 0 ? JSON.stringify(Object.fromEntries(kept)) : undefined
}

const merge = (before: Partial<NewLead>, asked: NewLead, given: string[]): Partial<NewLead> => {
  const names = (Object.keys(before) as (keyof NewLead)[]).filter((name) => given.includes(snakeCase(name)))
  const set = Object.fromEntries(names.map((name) => [name, asked[name]]))
  if ('attributes' in set) set['attributes'] = mergeAttributes(before.attributes, asked.attributes)
  const after: Partial<NewLead> = { ...before, ...set }
  // With this status it is shown as one, marked or not.
  if (before.status === 'test' && after.status === 'test' && after.test) after.test = before.test ?? false
  return after
}

type Deps = JsonSettings & {
  tx: OpenTransaction
  references: References
  /** Why the changed lead may not be; `sized` is what an event of it may have. */
  refusalOf: (item: CreateLead, sized: CreateLead) => ServiceError | undefined
  /** Gets the events; undefined: there are none. */
  events: OutboxEvent[] | undefined
}

interface Found {
  item: CreateLead
  row: LockedLead
  lead: Lead
}

/** What no create sets, as it was: a new lead has null there. The link follows from the number of the mobile. */
const keptOf = <Part extends object>(made: Part, before: Part): Partial<Part> =>
  Object.fromEntries(
    Object.entries(before).filter(
      ([name]) =>
        (made[name as keyof Part] ?? null) === null && !SETTABLE.has(name) && name !== 'mobile_link',
    ),
  ) as Partial<Part>

/** The lead with what changed in it. */
const changedLead = async (
  item: CreateLead,
  { row, lead }: Found,
  { tx, references }: Deps,
): Promise<Lead> => {
  const ids = await drawIds(tx, item)
  const { id, number, accountKey, now } = row
  const { customer } = lead
  const stamp = { ...ids, id, number, accountKey, customerId: customer.id, createdAt: now }
  const made = buildLead(item, stamp, references.imageOf)
  const { created_at } = customer
  return {
    ...made,
    ...keptOf(made, lead),
    ...{ reference: lead.reference, type: lead.type, created_at },
    customer: { ...made.customer, ...keptOf(made.customer, customer), created_at },
  }
}

const writeParts = (
  tx: OpenTransaction,
  { item: { accountId }, row: { id, number, attributes } }: Found,
  { after, lead, fields }: { after: Partial<NewLead>; lead: Lead; fields: string[] },
) => {
  if (fields.includes('quotes')) {
    for (const text of DELETE_QUOTES) tx.send({ text, values: [accountId, id] })
    insertTogether(tx, quoteInsertsOf(lead.quotes.map((record) => ({ accountId, record }))))
  }
  if (fields.includes('attributes')) {
    const [old, now] = [attributeTerms(attributes), attributeTerms(after.attributes)]
    const gone = old.filter((term) => !now.includes(term))
    deleteTerms.send(tx, accountId, number, gone)
    insertTogether(tx, [termsOf(now.map((term) => ({ accountId, number, term })))])
  }
}

/** Resolves with the answer, and the fields that changed. */
const changeLead = async (found: Found, deps: Deps) => {
  const { item, row, lead } = found
  const { tx, events, jsonFormat } = deps
  const { accountId, actor, traceparent } = item
  const before = newLeadOf(lead, row)
  const after = merge(before, item.lead!, item.lead!.upsert!.given)
  const changes = await fieldChanges(tx, accountId, before, after)
  const fields = changes.map(({ field }) => field)
  const answer = (shown: Lead, version: number) => {
    const body = leadBody(leadJsonOf(shown, jsonFormat))
    return { fields, outcome: { body, replayed: false, version, created: false } }
  }
  const quotes = fields.includes('quotes') ? after.quotes! : []
  const complete: CreateLead = {
    ...item,
    lead: { ...item.lead!, ...after, userId: item.lead!.userId, quotes },
  }
  const refused = changes.length > 0 ? deps.refusalOf(item, complete) : undefined
  const outcome = refused ?? matchError(item.lead!.upsert!.ifMatch, row.version)
  if (outcome) return { fields: [], outcome }
  if (changes.length === 0) return answer(lead, row.version)
  const changed = await changedLead(complete, found, deps)
  if (!fields.includes('quotes')) changed.quotes = lead.quotes
  const json = leadJsonOf(changed, jsonFormat)
  const { id: leadId, now: at } = row
  const values = [accountId, leadId, after.userId, after.test, after.attributes].map((value) => value ?? null)
  const columns = COLUMNS.map(([, , columnOf]) => columnOf(changed))
  tx.send({
    name: 'change-lead',
    text: UPDATE,
    values: [...values, json.format, json.item, json.details, ...columns],
  })
  writeParts(tx, found, { after, lead: changed, fields })
  const version = row.version + 1
  recordLeadChange(tx, { accountId, leadId, version, actor, changes, at })
  if (events) {
    const isReassigned = item.lead!.upsert!.given.includes('user_id')
    const user_email = isReassigned ? (deps.references.userEmailOf(item) ?? null) : row.userEmail
    const about = { ...changed, test: changed.test === 1, version, api_key: row.accountKey, user_email }
    const attributes = after.attributes ?? null
    const event = changeEvent({
      accountId,
      lead: about,
      ...leadUpdated(json.item, changes),
      at,
      attributes,
      traceparent,
    })
    insertTogether(tx, [eventsOf([event])])
    events.push(event)
  }
  return answer(changed, version)
}

/** Writes the words of changed leads anew. Locks the progress of accounts by id. */
const renewWords = async (tx: OpenTransaction, changed: { accountId: number; number: number }[]) => {
  for (const accountId of [...new Set(changed.map((lead) => lead.accountId))].sort((a, b) => a - b)) {
    const progress = await lockProgress(tx, accountId, { skip: false })
    // Others have none yet.
    for (const { number } of changed.filter((lead) => lead.accountId === accountId))
      if (number <= progress!.number) await writeTerms(tx, accountId, { after: number - 1, last: number })
  }
}

/**
 * Changes locked leads to what upserts ask for: history, event and version as for Update Lead. What changes nothing writes nothing.
 * Resolves with the outcomes in the order of the upserts.
 */
export const changeLeads = async (upserts: { item: CreateLead; row: LockedLead }[], deps: Deps) => {
  const { tx, assetsUrl } = deps
  const asked = new Map(upserts.map(({ item: { accountId }, row }) => [row.id, { accountId }]))
  const leads = await leadsFromColumns(tx, asked, assetsUrl)
  const outcomes: Awaited<ReturnType<typeof changeLead>>['outcome'][] = []
  const searched: { accountId: number; number: number }[] = []
  for (const { item, row } of upserts) {
    const { outcome, fields } = await changeLead({ item, row, lead: leads.get(row.id)! }, deps)
    outcomes.push(outcome)
    if (fields.some((field) => SEARCHED.includes(field)))
      searched.push({ accountId: item.accountId, number: row.number })
  }
  await renewWords(tx, searched)
  return outcomes
}
