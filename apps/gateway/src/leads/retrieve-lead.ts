import { dataOf, LeadParams } from '../docs/shared-schemas'
import { operation } from '../operation'
import { leadReference } from './lead-reference'
import { Lead } from './lead-schema'

/** GET /leads/:reference (interface: Retrieve Lead). */
export const retrieveLead = operation({
  method: 'GET',
  url: '/leads/:reference',
  operationId: 'retrieveLead',
  tag: 'Leads',
  summary: 'Retrieve a lead',
  scope: 'leads:read',
  params: LeadParams,
  answer: { description: 'The lead with its customer and quotes.', schema: dataOf(Lead) },
  handler: ({ request, accountId, clients, limits }) =>
    clients.retrieveLead({ accountId, reference: leadReference(request) }, limits),
})
