import { leadReference } from '../api/lead-reference'
import { operation } from '../api/operation'
import { dataOf, LeadParams } from '../api/schemas'
import { unlessKnown } from '../http/entity-tags'
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
  etag: 'read',
  answer: { description: 'The lead with its customer and quotes.', schema: dataOf(Lead) },
  isBatched: true,
  handler: async ({ request, reply, accountId, clients, limits }) => {
    const { body, etag } = await clients.retrieveLead(
      { accountId, reference: leadReference(request) },
      limits,
    )
    return unlessKnown(request, reply, etag, body)
  },
})
