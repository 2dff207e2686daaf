import type { Quote, QuoteItem } from '@leadwire/contracts'
import { fields, type Insert, inserter } from '../inserter'
import type { RenderedLead } from './render-new-lead'

interface NewLeadRows extends Pick<RenderedLead, 'item' | 'number' | 'lead' | 'json'> {
  /** Of its lead.created; undefined when there is no such event. */
  eventId: string | undefined
}

const leadOf = (row: NewLeadRows) => row.lead
const customerOf = (row: NewLeadRows) => row.lead.customer!

const customersOf = inserter<NewLeadRows>('customers', [
  ['account_id', 'bigint', ({ item }) => item.accountId],
  ...fields(customerOf, 'bigint', ['id']),
  ...fields(customerOf, 'text', ['firstName', 'lastName', 'companyName', 'email', 'postcode']),
  ...fields(customerOf, 'text', ['phone', 'phoneLink', 'mobile', 'mobileLink']),
  ...fields(customerOf, 'timestamptz', ['createdAt']),
])

const leadsOf = inserter<NewLeadRows>('leads', [
  ['account_id', 'bigint', ({ item }) => item.accountId],
  ['number', 'bigint', ({ number }) => number],
  ['customer_id', 'bigint', (row) => customerOf(row).id],
  ['user_id', 'bigint', ({ item }) => item.lead!.userId],
  // As it was marked: one with the status `test` is a test lead without it.
  ['test', 'boolean', ({ item }) => item.lead!.test],
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['created_by_token_id', 'bigint', ({ item }) => item.actor?.tokenId],
  ['created_by_request_id', 'text', ({ item }) => item.actor?.requestId],
  ['json_format', 'integer', ({ json }) => json.format],
  ['json', 'text', ({ json }) => json.item],
  ['json_details', 'text', ({ json }) => json.details],
  ...fields(leadOf, 'bigint', ['id']),
  ...fields(leadOf, 'uuid', ['reference']),
  ...fields(leadOf, 'integer', ['value']),
  ...fields(leadOf, 'text', ['name', 'description', 'postcode', 'status', 'type']),
  ...fields(leadOf, 'text', ['userAgent', 'ip', 'referrer', 'referrerUrl']),
  ...fields(leadOf, 'text', ['deviceType', 'deviceName', 'browser', 'browserVersion', 'os', 'osVersion']),
  ...fields(leadOf, 'timestamptz', ['createdAt', 'updatedAt']),
])

interface Owned<Record> {
  accountId: number
  record: Record
}

const quoteOf = (row: Owned<Quote>) => row.record
const itemOf = (row: Owned<QuoteItem>) => row.record

const quotesOf = inserter<Owned<Quote>>('quotes', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ...fields(quoteOf, 'bigint', ['id', 'leadId']),
  ...fields(quoteOf, 'text', ['status']),
  ...fields(quoteOf, 'timestamptz', ['createdAt', 'updatedAt']),
])

const itemsOf = inserter<Owned<QuoteItem>>('quote_items', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['product_style_sku', 'text', ({ record }) => record.productStyle!.sku],
  ['product_style_name', 'text', ({ record }) => record.productStyle!.name],
  ['product_name', 'text', ({ record }) => record.productStyle!.productName],
  ['image_id', 'bigint', ({ record }) => record.image!.id],
  ...fields(itemOf, 'bigint', ['id', 'quoteId', 'productStyleId', 'price', 'cost', 'tax']),
  ...fields(itemOf, 'float8', ['margin', 'minimum', 'maximum']),
  ...fields(itemOf, 'text', ['name', 'format', 'status']),
  ...fields(itemOf, 'boolean', ['hidden']),
  ...fields(itemOf, 'json', ['options']),
  ...fields(itemOf, 'timestamptz', ['createdAt', 'updatedAt']),
])

/** What is to be inserted of leads: their customers, quotes and items with them. */
export const insertsOf = (leads: NewLeadRows[]): Insert[] => {
  const quotes = leads.flatMap(({ item: { accountId }, lead }) =>
    lead.quotes.map((record) => ({ accountId, record })),
  )
  const items = quotes.flatMap(({ accountId, record }) =>
    record.items.map((item) => ({ accountId, record: item })),
  )
  return [customersOf(leads), leadsOf(leads), quotesOf(quotes), itemsOf(items)]
}
