import { LEAD_STATUSES } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { named } from '../api/schemas'
import { oneOf } from '../validation/fields'

const LeadStatuses = named('LeadStatusList')({
  data: Type.Array(oneOf(LEAD_STATUSES), { examples: [LEAD_STATUSES] }),
})

const ANSWER = JSON.stringify({ data: LEAD_STATUSES })

/** Interface: List Lead Statuses. */
export const listLeadStatuses = operation({
  route: 'GET /leads/statuses',
  operationId: 'listLeadStatuses',
  tag: 'Leads',
  summary: 'List lead statuses',
  scope: 'leads:read',
  answer: { description: 'The statuses a lead can have.', schema: LeadStatuses },
  handler: async () => ANSWER,
})
