import { Lead } from '@leadwire/contracts'
import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { unlessKnown } from '../http/entity-tags'

/** Interface: Retrieve Lead. */
export const retrieveLead = operation({
  route: 'GET /leads/:reference',
  operationId: 'retrieveLead',
  tag: 'Leads',
  summary: 'Retrieve a lead',
  scope: 'leads:read',
  etag: 'read',
  answer: dataOf(Lead, 'The lead with its customer and quotes.'),
  isBatched: true,
  handler: async ({ request, leadReference, reply, accountId, clients, limits }) => {
    const { body, etag } = await clients.retrieveLead({ accountId, reference: leadReference() }, limits)
    return unlessKnown(request, reply, etag, body)
  },
})
