import { Lead } from '@leadwire/contracts'
import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { leadCreation } from './lead-creation'
import { CreateLead, newLead } from './lead-fields'

/** Interface: Create Lead. */
export const createLead = operation({
  route: 'POST /leads',
  operationId: 'createLead',
  tag: 'Leads',
  summary: 'Create a lead',
  description:
    "Creates a lead with its customer and sends the Lead Created webhook. The visitor's address, browser and device are detected from the request.",
  scope: 'leads',
  idempotent: true,
  etag: 'new',
  body: CreateLead,
  answer: dataOf(Lead, 'The new lead.'),
  isBatched: true,
  handler: leadCreation(newLead),
})
