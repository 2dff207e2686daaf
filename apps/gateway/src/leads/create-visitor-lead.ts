import { Lead } from '@leadwire/contracts'
import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { leadCreation } from './create-lead'
import { newVisitorLead, VisitorLead } from './visitor-lead'

export const createVisitorLead = operation({
  route: 'POST /manage/leads',
  operationId: 'createVisitorLead',
  summary: "Create a visitor's lead",
  description:
    'Creates a lead with its customer, quotes and items, all or nothing, and sends the Lead Created webhook. A lead may have 20 quotes, 250 items in all, and an event of 1,000,000 bytes (the webhook with its image records, as it is sent to be delivered), unless the operator has set other limits: beyond them the answer is 422, with the limit.',
  idempotent: true,
  etag: 'new',
  body: VisitorLead,
  answer: dataOf(Lead, 'The new lead.'),
  isBatched: true,
  handler: leadCreation(newVisitorLead),
})
