import { dataOf, LeadParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { sendJson } from '../http/send-json'
import { operation } from '../operation'
import { leadReference } from './lead-reference'

/** GET /leads/:reference (interface: Retrieve Lead). */
export const retrieveLead = operation({
  method: 'GET',
  url: '/leads/:reference',
  operationId: 'retrieveLead',
  tag: 'Leads',
  summary: 'Retrieve a lead',
  scope: 'leads:read',
  params: LeadParams,
  answer: { description: 'The lead with its customer and quotes.', schema: dataOf({ $ref: 'Lead#' }) },
  handler: async (request, reply, { clients }) => {
    const lead = { accountId: request.principal.accountId, reference: leadReference(request) }
    return sendJson(reply, await clients.retrieveLead(lead, limitsOf(reply)))
  },
})
