import { Customer, LeadListItem, Quote, QuoteItem } from '@leadwire/contracts'
import { columnsOf, type Insert, inserter } from '../../database/inserter'
import type { RenderedLead } from './build-lead'

const leadsOf = inserter<RenderedLead>('leads', [
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
])

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

/** The inserts of leads, with their quotes and items. */
export const insertsOf = (leads: RenderedLead[]): Insert[] => {
  const quotes = leads.flatMap(({ item: { accountId }, lead }) =>
    lead.quotes.map((record) => ({ accountId, record })),
  )
  const items = quotes.flatMap(({ accountId, record }) =>
    record.items.map((item) => ({ accountId, record: item })),
  )
  return [leadsOf(leads), quotesOf(quotes), itemsOf(items)]
}
