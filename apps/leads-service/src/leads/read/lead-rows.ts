import {
  Customer,
  isUuid,
  type Lead,
  LeadListItem,
  leadItemJson,
  listFields,
  ManagedFields,
  Quote,
  QuoteItem,
} from '@leadwire/contracts'
import { ServiceError, statement, type Transaction } from '@leadwire/service-kit'
import { type Row, recordMapper } from '../../database/row-mapper'
import { IMAGE_COLUMNS, readImage } from '../../images/images'
import { type JsonSettings, type LeadKey, leadNotFound, renderLeadJson, wholeLeadJson } from './lead-response'

/** The columns of a lead without its customer and quotes. */
export const LEAD = recordMapper(LeadListItem, 'l')
const CUSTOMER = recordMapper(Customer, 'l', { as: 'customer' })
const QUOTE = recordMapper(Quote, 'q')
const ITEM = recordMapper(QuoteItem, 'i')

/** SQL: the reference of the lead that a lead `l` is a duplicate of. */
export const DUPLICATE_OF = listFields(ManagedFields).find(({ name }) => name === 'duplicate_of')!.expression!

/** SQL: the ManagedFields of a lead `l` as JSON without braces. */
export const MANAGED_JSON = `concat('"external_id":', coalesce(to_json(l.external_id)::text, 'null'),
  ',"attributes":', coalesce(l.attributes::text, '{}'), ',"duplicate_of":', coalesce(to_json(${DUPLICATE_OF})::text, 'null'))`

/** SQL: the user that a lead `l` is assigned to, as JSON. `null` if the lead is unassigned. */
export const USER_JSON = `coalesce((SELECT row_to_json(shown)::text FROM (
    SELECT u.id, u.name, CASE WHEN u.removed_at IS NULL THEN u.email END AS email
    FROM users u WHERE u.account_id = l.account_id AND u.id = l.user_id) shown), 'null')`

type Find<Found> = (db: Transaction, ...values: unknown[]) => Promise<Found[]>

/**
 * Finds the row of a lead with a statement whose parameters are the account, the reference and `more`. Throws
 * `not_found` if there is no such lead.
 */
export const requireLead = async <Found>(
  db: Transaction,
  find: Find<Found>,
  { accountId, reference }: LeadKey,
  ...more: unknown[]
): Promise<Found> => {
  const [found] = isUuid(reference) ? await find(db, accountId, reference, ...more) : []
  if (!found) throw leadNotFound()
  return found
}

/** Finds the row of a lead, as `requireLead` does. Throws `lead_erased` if the lead was erased. */
export const requireUnerased = async <Found extends { erased: boolean }>(
  ...asked: Parameters<typeof requireLead<Found>>
): Promise<Found> => {
  const lead = await requireLead(...asked)
  if (!lead.erased) return lead
  const detail = 'The personal data of this lead was erased, so the lead can no longer be changed.'
  throw new ServiceError('lead_erased', detail)
}

/** Returns whether a lead is a test lead: it is marked as a test, or has the status `test`. */
export const isTest = ({ test, status }: { test: boolean; status: string }): boolean =>
  test || status === 'test'

interface ItemRow extends Row {
  options: string
  product_style_sku: string
  product_style_name: string
  product_name: string
}

const ASKED = 'unnest($1::bigint[], $2::bigint[]) AS asked (account_id, id)'

const selectLeads = statement<Row>('leads-of-columns')`
  SELECT ${LEAD.columns}, ${CUSTOMER.columns}
  FROM ${ASKED} JOIN leads l ON l.account_id = asked.account_id AND l.id = asked.id`

const selectQuotes = statement<Row>('quotes-of-leads')`
  SELECT ${QUOTE.columns}
  FROM ${ASKED} JOIN quotes q ON q.account_id = asked.account_id AND q.lead_id = asked.id
  ORDER BY q.id`

const selectItems = statement<ItemRow>('items-of-leads')`
  SELECT ${ITEM.columns}, i.options, i.product_style_sku, i.product_style_name, i.product_name, ${IMAGE_COLUMNS}
  FROM ${ASKED} JOIN quotes q ON q.account_id = asked.account_id AND q.lead_id = asked.id
  JOIN quote_items i ON i.account_id = q.account_id AND i.quote_id = q.id
  JOIN images m ON m.account_id = i.account_id AND m.id = i.image_id
  ORDER BY i.id`

export const leadsFromColumns = async (
  db: Transaction,
  asked: Map<number, { accountId: number }>,
  assetsUrl: string,
): Promise<Map<number, Lead>> => {
  const values = [[...asked.values()].map(({ accountId }) => accountId), [...asked.keys()]]
  const leads = new Map<number, Lead>()
  if (asked.size === 0) return leads
  for (const row of await selectLeads(db, ...values)) {
    const lead = { ...LEAD.read(row), customer: CUSTOMER.read(row), quotes: [] }
    leads.set(lead.id, lead)
  }
  const quotes = new Map<number, Quote>()
  for (const row of await selectQuotes(db, ...values)) {
    const quote = { ...QUOTE.read(row), items: [] }
    quotes.set(quote.id, quote)
    leads.get(quote.lead_id)?.quotes.push(quote)
  }
  for (const row of await selectItems(db, ...values)) {
    const { options, product_style_sku: sku, product_style_name: name } = row
    const product_style = { sku, name, product: { name: row.product_name } }
    const item = { ...ITEM.read(row), image: readImage(row, assetsUrl), product_style, options }
    quotes.get(item.quote_id)?.items.push(item)
  }
  return leads
}

const NUMBERED = `
  FROM unnest($2::bigint[]) WITH ORDINALITY AS asked (number, ord)
  JOIN leads l ON l.account_id = $1 AND l.number = asked.number`

// `items` is null if the stored JSON of any lead has another format than $3.
const selectJson = statement<{ items: string | null }>('load-lead-items')`
  SELECT CASE WHEN coalesce(bool_and(l.json_format = $3), true)
    THEN coalesce(string_agg(l.json, ',' ORDER BY asked.ord), '') END AS items ${NUMBERED}`

const selectColumns = statement<Row>('lead-items-of-columns')`
  SELECT ${LEAD.columns} ${NUMBERED} ORDER BY asked.ord`

/** Renders list items from the columns of leads, in the order of `numbers`. */
export const loadItemsFromColumns = async (
  db: Transaction,
  accountId: number,
  numbers: number[],
): Promise<string[]> => {
  const rows = await selectColumns(db, accountId, numbers)
  return rows.map((row) => leadItemJson(LEAD.read(row)))
}

/** Loads the leads of an account as a JSON array of list items, in the order of `numbers`. */
export const loadLeadItems = async (
  db: Transaction,
  { accountId, numbers, jsonFormat }: { accountId: number; numbers: number[]; jsonFormat: number },
): Promise<Buffer> => {
  const [made] = await selectJson(db, accountId, numbers, jsonFormat)
  if (made!.items !== null) return Buffer.from(`[${made!.items}]`)
  const items = await loadItemsFromColumns(db, accountId, numbers)
  return Buffer.from(`[${items.join(',')}]`)
}

/**
 * Loads the JSON of whole leads, with the fields that only the management interface shows (`managed`). If the
 * stored JSON of a lead has another format, `body` is null, and the lead is rendered from its columns.
 */
export const managedBodies = async (
  db: Transaction,
  accountId: number,
  rows: { id: number; managed: string; body: string | null }[],
  { assetsUrl, jsonFormat }: JsonSettings,
): Promise<Buffer[]> => {
  const others = new Map(rows.filter(({ body }) => body === null).map(({ id }) => [id, { accountId }]))
  const leads = await leadsFromColumns(db, others, assetsUrl)
  return rows.map(({ id, body, managed }) => {
    if (body !== null) return Buffer.from(body)
    const { item, details } = renderLeadJson(leads.get(id)!, jsonFormat)
    return Buffer.from(wholeLeadJson({ item, details: `${managed},${details}` }))
  })
}
