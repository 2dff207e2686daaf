import { Type } from '@sinclair/typebox'
import { named } from '../../api/schemas'
import { Lead, Quote, QuoteItem } from '../../leads/lead-schema'
import { webhook } from './webhook'

const PayloadItem = Type.Omit(QuoteItem, ['product_style'], { title: 'LeadCreatedQuoteItem' })

const PayloadQuote = named('LeadCreatedQuote')({ ...Quote.properties, items: Type.Array(PayloadItem) })

const PayloadLead = named(
  'LeadCreatedLead',
  'The lead as it was created. Its items have no `product_style`.',
)({ ...Lead.properties, quotes: Type.Array(PayloadQuote) })

const LeadCreated = named('LeadCreated')({ data: PayloadLead })

/** The Lead Created webhook (interface: Events). */
export const LEAD_CREATED = webhook({
  operationId: 'leadCreated',
  summary: 'Lead Created',
  description:
    'Sent to each webhook endpoint of the account that subscribes to `lead.created`, as all do by default, when a lead was created.',
  body: LeadCreated,
})
