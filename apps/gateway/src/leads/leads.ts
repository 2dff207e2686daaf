import { LEAD_STATUSES, Lead, ManagedLead } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { leadListOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import { dataOf, described, named, orNull, requestIdOfChange, TokenName, timestamp } from '../api/schemas'
import { unlessKnown } from '../http/entity-tags'
import { describe, oneOf } from '../validation/fields'
import { VisitorLead } from './visitor-lead'

const LeadStatuses = named('LeadStatusList', {
  data: Type.Array(oneOf(LEAD_STATUSES), { examples: [LEAD_STATUSES] }),
})

const ANSWER = JSON.stringify({ data: LEAD_STATUSES })

/** Interface: List Lead Statuses. */
export const listLeadStatuses = operation({
  route: 'GET /leads/statuses',
  tag: 'Leads',
  summary: 'List lead statuses',
  answer: { description: 'The statuses a lead can have.', schema: LeadStatuses },
  handler: async () => ANSWER,
})

/** Interface: Retrieve Lead. */
export const retrieveLead = operation({
  route: 'GET /leads/:reference',
  tag: 'Leads',
  summary: 'Retrieve a lead',
  etag: 'read',
  answer: dataOf(Lead, 'The lead with its customer and quotes.'),
  isBatched: true,
  handler: async ({ leadKey, reply, clients, limits }) => {
    const { body, etag } = await clients.retrieveLead(leadKey(), limits)
    return unlessKnown(reply, etag, body)
  },
})

export const retrieveManagedLead = operation({
  route: 'GET /manage/leads/:reference',
  summary: 'Retrieve a lead with its attributes',
  description: 'What Retrieve Lead shows, with what only the management interface knows of the lead.',
  etag: 'read',
  answer: dataOf(ManagedLead, 'The lead with all that is kept of it.'),
  handler: async ({ leadKey, reply, clients, limits }) => {
    const { body, etag } = await clients.leads.retrieveManagedLead(leadKey(), limits)
    return unlessKnown(reply, etag, body)
  },
})

const CHANGED = Object.keys(VisitorLead.properties).filter(
  (name) => !['status', 'value', 'user_id', 'external_id'].includes(name),
)

export const FieldChange = described(
  'LeadFieldChange',
  'Of a user `from` and `to` have `id` and `email`, as it was then, or are null. Of an appointment or a callback they have `id`, `user_id` and `date`; `to` is null when it was cancelled. Of personal fields, quotes and attributes both are null.',
  {
    field: oneOf(
      ['status', 'value', 'user', 'appointment', 'callback', 'duplicate_of', ...CHANGED],
      undefined,
      'status',
    ),
    from: Type.Unknown({ description: 'What it was.', examples: ['open'] }),
    to: Type.Unknown({ description: 'What it became.', examples: ['sold'] }),
  },
)

export const LeadHistoryEntry = described('LeadHistoryEntry', 'One change of a lead.', {
  version: Type.Integer(describe('Counts the changes of a lead; its ETag starts with it.', 2)),
  at: timestamp(
    'When it was done; also the updated_at of the lead then, unless only an appointment or a callback was changed.',
  ),
  action: oneOf(['created', 'updated', 'erased'], undefined, 'updated'),
  token: orNull(TokenName, 'Whose token did it. Null for leads that were created before this was recorded.'),
  request_id: requestIdOfChange,
  changes: Type.Array(FieldChange, {
    description:
      'What became another one. Empty for the creation and the erasure, which also empties what others were from and to.',
  }),
})

export const listLeadHistory = leadListOperation({
  route: 'GET /manage/leads/:reference/history',
  summary: "List a lead's history",
  description: 'Who created and changed a lead, when and how.',
  record: LeadHistoryEntry,
  find: ({ clients, limits }, asked) => clients.leads.listLeadHistory(asked, limits),
})
