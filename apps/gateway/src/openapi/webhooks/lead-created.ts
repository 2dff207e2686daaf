import { Type } from '@sinclair/typebox'
import { Lead, Quote, QuoteItem } from '../../leads/lead-schema'
import { webhook } from './webhook'

const PayloadItem = Type.Omit(QuoteItem, ['product_style'], { title: 'LeadCreatedQuoteItem' })

const PayloadQuote = Type.Object(
  { ...Quote.properties, items: Type.Array(PayloadItem) },
  { title: 'LeadCreatedQuote' },
)

const PayloadLead = Type.Object(
  { ...Lead.properties, quotes: Type.Array(PayloadQuote) },
  { title: 'LeadCreatedLead', description: 'The lead as it was created. Its items have no `product_style`.' },
)

const LeadCreated = Type.Object({ data: PayloadLead }, { title: 'LeadCreated' })

/** The Lead Created webhook (interface: Events). */
export const LEAD_CREATED = webhook({
  operationId: 'leadCreated',
  summary: 'Lead Created',
  description:
    'Sent to each webhook endpoint of the account that subscribes to `lead.created`, as all do by default, when a lead was created.',
  body: LeadCreated,
})
