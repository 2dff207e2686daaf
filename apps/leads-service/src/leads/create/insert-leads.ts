import {
  attributeTerms,
  Customer,
  LeadListItem,
  listFields,
  ManagedFields,
  Quote,
  QuoteItem,
} from '@leadwire/contracts'
import { type Column, defineInsert, type OpenTransaction } from '@leadwire/service-kit'
import type { TObject } from '@sinclair/typebox'
import type { RenderedLead } from './render-lead'

/** Lists the columns for the stored fields of a record. `readRecord` returns the record of a row. */
export const listColumns = <Row>(schema: TObject, readRecord: (row: Row) => object): Column<Row>[] =>
  listFields(schema)
    .filter(({ expression }) => expression === undefined)
    .map(({ name, column, type }) => [
      column,
      type,
      (row) => (readRecord(row) as Record<string, unknown>)[name],
    ])

const insertLeadRows = defineInsert<RenderedLead>('leads', [
  ['account_id', 'bigint', ({ item }) => item.accountId],
  ['number', 'bigint', ({ number }) => number],
  ['user_id', 'bigint', ({ item }) => item.lead!.userId],
  // Whether the lead was marked as a test. A lead with the status `test` is a test lead even without the
  // mark.
  ['test', 'boolean', ({ item }) => item.lead!.test],
  ['event_id', 'uuid', ({ event }) => event?.eventId],
  ['created_by_token_id', 'bigint', ({ item }) => item.actor?.tokenId],
  ['created_by_user_id', 'bigint', ({ item }) => item.actor?.userId],
  ['created_by_request_id', 'text', ({ item }) => item.actor?.requestId],
  // The time at which the row is stored. A new lead has the same time in `updated_at`.
  ['created_at', 'timestamptz', ({ lead }) => lead.updated_at],
  // The creation time that an import gave.
  ['dated_at', 'timestamptz', ({ item, lead }) => item.lead!.createdAt && lead.created_at],
  // An import may give an earlier creation time. Nothing else is known about the time of the sale.
  ['sold_at', 'timestamptz', ({ lead }) => (lead.status === 'sold' ? lead.created_at : undefined)],
  ['attributes', 'json', ({ item }) => item.lead!.attributes],
  ['json_format', 'integer', ({ json }) => json.format],
  ['json', 'text', ({ json }) => json.item],
  ['json_details', 'text', ({ json }) => json.details],
  ...listColumns<RenderedLead>(LeadListItem, ({ lead }) => lead),
  ...listColumns<RenderedLead>(Customer, ({ lead }) => lead.customer),
  ...listColumns<RenderedLead>(ManagedFields, ({ item }) => ({ external_id: item.lead!.externalId })),
])

/** Inserts attribute terms, by which leads are found. A term is the `key:value` of an attribute. */
export const insertAttributeTerms = defineInsert<{ accountId: number; number: number; term: string }>(
  'lead_attributes',
  [
    ['account_id', 'bigint', ({ accountId }) => accountId],
    ['term', 'text', ({ term }) => term],
    ['number', 'bigint', ({ number }) => number],
  ],
  'ON CONFLICT DO NOTHING',
)

interface Owned<Record> {
  accountId: number
  record: Record
}

const insertQuoteRows = defineInsert<Owned<Quote>>('quotes', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ...listColumns<Owned<Quote>>(Quote, ({ record }) => record),
])

const insertItemRows = defineInsert<Owned<QuoteItem>>('quote_items', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['product_style_sku', 'text', ({ record }) => record.product_style.sku],
  ['product_style_name', 'text', ({ record }) => record.product_style.name],
  ['product_name', 'text', ({ record }) => record.product_style.product.name],
  ['image_id', 'bigint', ({ record }) => record.image.id],
  ['options', 'json', ({ record }) => record.options],
  ...listColumns<Owned<QuoteItem>>(QuoteItem, ({ record }) => record),
])

/** Inserts quotes with their items. */
export const insertQuotes = (tx: OpenTransaction, quotes: Owned<Quote>[]): void => {
  insertQuoteRows(tx, quotes)
  const items = quotes.flatMap(({ accountId, record }) =>
    record.items.map((item) => ({ accountId, record: item })),
  )
  insertItemRows(tx, items)
}

/** Inserts new leads with their quotes, items and attribute terms. */
export const insertLeads = (tx: OpenTransaction, leads: RenderedLead[]): void => {
  insertLeadRows(tx, leads)
  const quotes = leads.flatMap(({ item: { accountId }, lead }) =>
    lead.quotes.map((record) => ({ accountId, record })),
  )
  insertQuotes(tx, quotes)
  const terms = leads.flatMap(({ item: { accountId, lead }, number }) =>
    attributeTerms(lead!.attributes).map((term) => ({ accountId, number, term })),
  )
  insertAttributeTerms(tx, terms)
}
