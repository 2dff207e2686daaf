import { attributeTerms, Customer, LeadListItem, ManagedFields, Quote, QuoteItem } from '@leadwire/contracts'
import { columnsOf, type Insert, inserter } from '../../database/inserter'
import type { RenderedLead } from './build-lead'

const LEAD_COLUMNS: Parameters<typeof inserter<RenderedLead>>[1] = [
  ['account_id', 'bigint', ({ item }) => item.accountId],
  ['number', 'bigint', ({ number }) => number],
  ['user_id', 'bigint', ({ item }) => item.lead!.userId],
  // As it was marked: one with the status `test` is a test lead without it.
  ['test', 'boolean', ({ item }) => item.lead!.test],
  ['event_id', 'uuid', ({ event }) => event?.eventId],
  ['created_by_token_id', 'bigint', ({ item }) => item.actor?.tokenId],
  ['created_by_request_id', 'text', ({ item }) => item.actor?.requestId],
  ['json_format', 'integer', ({ json }) => json.format],
  ['json', 'long text', ({ json }) => json.item],
  ['json_details', 'long text', ({ json }) => json.details],
  ...columnsOf<RenderedLead>(LeadListItem, ({ lead }) => lead),
  ...columnsOf<RenderedLead>(Customer, ({ lead }) => lead.customer),
]

const leadsOf = inserter('leads', LEAD_COLUMNS)

// Apart: leads without them, which most are, have two parameters less to read.
const managedLeadsOf = inserter<RenderedLead>(
  'leads',
  [
    ...LEAD_COLUMNS,
    ['attributes', 'json', ({ item }) => item.lead!.attributes],
    ...columnsOf<RenderedLead>(ManagedFields, ({ item }) => ({ external_id: item.lead!.externalId })),
  ],
  '',
  'managed-leads',
)

const hasManagedFields = ({ item: { lead } }: RenderedLead) =>
  lead!.externalId !== undefined || lead!.attributes !== undefined

type Term = { accountId: number; number: number; term: string }

/** The terms that leads are filtered by. */
export const termsOf = inserter<Term>(
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

const quotesOf = inserter<Owned<Quote>>('quotes', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ...columnsOf<Owned<Quote>>(Quote, ({ record }) => record),
])

const itemsOf = inserter<Owned<QuoteItem>>('quote_items', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['product_style_sku', 'text', ({ record }) => record.product_style.sku],
  ['product_style_name', 'text', ({ record }) => record.product_style.name],
  ['product_name', 'text', ({ record }) => record.product_style.product.name],
  ['image_id', 'bigint', ({ record }) => record.image.id],
  ['options', 'json', ({ record }) => record.options],
  ...columnsOf<Owned<QuoteItem>>(QuoteItem, ({ record }) => record),
])

/** The inserts of quotes and their items. */
export const quoteInsertsOf = (quotes: Owned<Quote>[]): Insert[] => {
  const items = quotes.flatMap(({ accountId, record }) =>
    record.items.map((item) => ({ accountId, record: item })),
  )
  return [quotesOf(quotes), itemsOf(items)]
}

/** The inserts of leads, with their quotes, items and terms. */
export const insertsOf = (leads: RenderedLead[]): Insert[] => {
  const quotes = leads.flatMap(({ item: { accountId }, lead }) =>
    lead.quotes.map((record) => ({ accountId, record })),
  )
  const terms = leads.flatMap(({ item: { accountId, lead }, number }) =>
    attributeTerms(lead!.attributes).map((term) => ({ accountId, number, term })),
  )
  const insertLeads = leads.some(hasManagedFields) ? managedLeadsOf : leadsOf
  return [insertLeads(leads), ...quoteInsertsOf(quotes), termsOf(terms)]
}
