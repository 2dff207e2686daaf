import type { Lead, Quote, QuoteItem } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'
import { inserter } from '../inserter'
import type { LeadJson } from './lead-json'

/** A lead with all that is written of it. */
export interface NewLeadRows {
  accountId: number
  number: number
  userId: number | undefined
  /** Whether it was marked as a test; one with the status `test` is a test lead without it. */
  test: boolean
  lead: Lead
  json: LeadJson
}

const insertCustomers = inserter<NewLeadRows>('customers', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['id', 'bigint', ({ lead }) => lead.customer!.id],
  ['first_name', 'text', ({ lead }) => lead.customer!.firstName],
  ['last_name', 'text', ({ lead }) => lead.customer!.lastName],
  ['company_name', 'text', ({ lead }) => lead.customer!.companyName],
  ['email', 'text', ({ lead }) => lead.customer!.email],
  ['phone', 'text', ({ lead }) => lead.customer!.phone],
  ['phone_link', 'text', ({ lead }) => lead.customer!.phoneLink],
  ['mobile', 'text', ({ lead }) => lead.customer!.mobile],
  ['mobile_link', 'text', ({ lead }) => lead.customer!.mobileLink],
  ['postcode', 'text', ({ lead }) => lead.customer!.postcode],
  ['created_at', 'timestamptz', ({ lead }) => lead.customer!.createdAt],
])

const insertLeadRows = inserter<NewLeadRows>('leads', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['id', 'bigint', ({ lead }) => lead.id],
  ['number', 'bigint', ({ number }) => number],
  ['reference', 'uuid', ({ lead }) => lead.reference],
  ['customer_id', 'bigint', ({ lead }) => lead.customer!.id],
  ['user_id', 'bigint', ({ userId }) => userId],
  ['name', 'text', ({ lead }) => lead.name],
  ['value', 'integer', ({ lead }) => lead.value],
  ['description', 'text', ({ lead }) => lead.description],
  ['postcode', 'text', ({ lead }) => lead.postcode],
  ['user_agent', 'text', ({ lead }) => lead.userAgent],
  ['ip', 'text', ({ lead }) => lead.ip],
  ['referrer', 'text', ({ lead }) => lead.referrer],
  ['referrer_url', 'text', ({ lead }) => lead.referrerUrl],
  ['device_type', 'text', ({ lead }) => lead.deviceType],
  ['device_name', 'text', ({ lead }) => lead.deviceName],
  ['browser', 'text', ({ lead }) => lead.browser],
  ['browser_version', 'text', ({ lead }) => lead.browserVersion],
  ['os', 'text', ({ lead }) => lead.os],
  ['os_version', 'text', ({ lead }) => lead.osVersion],
  ['status', 'text', ({ lead }) => lead.status],
  ['type', 'text', ({ lead }) => lead.type],
  ['test', 'boolean', ({ test }) => test],
  ['created_at', 'timestamptz', ({ lead }) => lead.createdAt],
  ['updated_at', 'timestamptz', ({ lead }) => lead.updatedAt],
  ['json_format', 'integer', ({ json }) => json.format],
  ['json', 'text', ({ json }) => json.item],
  ['json_details', 'text', ({ json }) => json.details],
])

interface Owned<Record> {
  accountId: number
  record: Record
}

const insertQuotes = inserter<Owned<Quote>>('quotes', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['id', 'bigint', ({ record }) => record.id],
  ['lead_id', 'bigint', ({ record }) => record.leadId],
  ['status', 'text', ({ record }) => record.status],
  ['created_at', 'timestamptz', ({ record }) => record.createdAt],
  ['updated_at', 'timestamptz', ({ record }) => record.updatedAt],
])

const insertItems = inserter<Owned<QuoteItem>>('quote_items', [
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['id', 'bigint', ({ record }) => record.id],
  ['quote_id', 'bigint', ({ record }) => record.quoteId],
  ['product_style_id', 'bigint', ({ record }) => record.productStyleId],
  ['name', 'text', ({ record }) => record.name],
  ['price', 'bigint', ({ record }) => record.price],
  ['cost', 'bigint', ({ record }) => record.cost],
  ['margin', 'float8', ({ record }) => record.margin],
  ['tax', 'bigint', ({ record }) => record.tax],
  ['minimum', 'float8', ({ record }) => record.minimum],
  ['maximum', 'float8', ({ record }) => record.maximum],
  ['format', 'text', ({ record }) => record.format],
  ['hidden', 'boolean', ({ record }) => record.hidden],
  ['status', 'text', ({ record }) => record.status],
  ['product_style_sku', 'text', ({ record }) => record.productStyle!.sku],
  ['product_style_name', 'text', ({ record }) => record.productStyle!.name],
  ['product_name', 'text', ({ record }) => record.productStyle!.productName],
  ['image_id', 'bigint', ({ record }) => record.image!.id],
  ['options', 'json', ({ record }) => record.options],
  ['created_at', 'timestamptz', ({ record }) => record.createdAt],
  ['updated_at', 'timestamptz', ({ record }) => record.updatedAt],
])

/** Inserts leads with their customers, quotes and items. */
export const insertLeads = (tx: OpenTransaction, leads: NewLeadRows[]): void => {
  insertCustomers(tx, leads)
  insertLeadRows(tx, leads)
  const quotes = leads.flatMap(({ accountId, lead }) => lead.quotes.map((record) => ({ accountId, record })))
  insertQuotes(tx, quotes)
  insertItems(
    tx,
    quotes.flatMap(({ accountId, record }) => record.items.map((item) => ({ accountId, record: item }))),
  )
}
