import { leadReference } from '../api/lead-reference'
import { operation } from '../api/operation'
import { dataOf, LeadParams } from '../api/schemas'
import { Erasure } from './erasure-schema'

/** POST /manage/leads/:reference/erase. */
export const eraseLead = operation({
  method: 'POST',
  url: '/manage/leads/:reference/erase',
  operationId: 'eraseLead',
  tag: 'Privacy',
  summary: "Erase a lead's personal data",
  description:
    'For good, from every store: at once from the lead itself, within a minute from everywhere else. Number, reference, status, value and times stay, texts are empty. What is still to be delivered of the lead is cancelled. Nothing of the lead changes afterwards (409). Asked again, the answer is the same receipt.',
  scope: 'manage',
  params: LeadParams,
  answer: { status: 202, description: 'The receipt.', schema: dataOf(Erasure) },
  handler: async ({ request, reply, accountId, clients, limits }) => {
    const { body } = await clients.leads.eraseLead({ accountId, reference: leadReference(request) }, limits)
    reply.code(202)
    return body
  },
})
