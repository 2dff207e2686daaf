import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { Erasure } from './erasure-schema'

export const retrieveErasure = operation({
  route: 'GET /manage/leads/:reference/erasure',
  operationId: 'retrieveErasure',
  tag: 'Privacy',
  summary: "Retrieve the receipt of a lead's erasure",
  description: '404 for a lead whose erasure was not requested.',
  answer: dataOf(Erasure, 'The receipt.'),
  handler: async ({ leadReference, accountId, clients, limits }) => {
    const asked = { accountId, reference: leadReference() }
    return (await clients.leads.retrieveErasure(asked, limits)).body
  },
})
