import { dataOf, IdempotencyHeader } from '../docs/shared-schemas'
import { operation } from '../operation'
import { leadCreation } from './lead-creation'
import { CreateLead, newLead } from './lead-fields'

/** POST /leads (interface: Create Lead). */
export const createLead = operation({
  method: 'POST',
  url: '/leads',
  operationId: 'createLead',
  tag: 'Leads',
  summary: 'Create a lead',
  description:
    "Creates a lead with its customer and sends the Lead Created webhook. The visitor's address, browser and device are told from the request.",
  scope: 'leads',
  headers: IdempotencyHeader,
  body: CreateLead,
  answer: { description: 'The new lead.', schema: dataOf({ $ref: 'Lead#' }) },
  problems: ['conflict'],
  handler: leadCreation(newLead),
})
