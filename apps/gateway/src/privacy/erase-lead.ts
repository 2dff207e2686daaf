import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { Erasure } from './erasure-schema'

export const eraseLead = operation({
  route: 'POST /manage/leads/:reference/erase',
  operationId: 'eraseLead',
  tag: 'Privacy',
  summary: "Erase a lead's personal data",
  description:
    'For good, from every store: at once from the lead itself, within a minute from everywhere else. Number, reference, status, value and times stay, texts are empty. What is still to be delivered of the lead is cancelled. Nothing of the lead changes afterwards (409). Asked again, the answer is the same receipt.',
  answer: { status: 202, ...dataOf(Erasure, 'The receipt.') },
  handler: async ({ leadReference, reply, accountId, clients, limits }) => {
    const { body } = await clients.leads.eraseLead({ accountId, reference: leadReference() }, limits)
    reply.code(202)
    return body
  },
})
