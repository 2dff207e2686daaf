import { leadReference } from '../api/lead-reference'
import { operation } from '../api/operation'
import { dataOf, LeadParams } from '../api/schemas'
import { Erasure } from './erasure-schema'

/** GET /manage/leads/:reference/erasure. */
export const retrieveErasure = operation({
  method: 'GET',
  url: '/manage/leads/:reference/erasure',
  operationId: 'retrieveErasure',
  tag: 'Privacy',
  summary: "Retrieve the receipt of a lead's erasure",
  description: '404 for a lead that nobody asked to erase.',
  scope: 'manage',
  params: LeadParams,
  answer: { description: 'The receipt.', schema: dataOf(Erasure) },
  handler: async ({ request, accountId, clients, limits }) => {
    const asked = { accountId, reference: leadReference(request) }
    return (await clients.leads.retrieveErasure(asked, limits)).body
  },
})
