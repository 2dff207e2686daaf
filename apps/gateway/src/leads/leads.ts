import { LEAD_STATUSES, Lead } from '@leadwire/contracts'
import { describe, enumeration } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { BATCHED_CALL_COST } from '../admission/admission'
import { leadListOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import {
  Actor,
  described,
  named,
  orNull,
  recordResponse,
  requestIdOfChange,
  TokenName,
  timestamp,
} from '../api/schemas'
import { unlessKnown } from '../http/entity-tags'
import { ManagedLead } from './managed-lead'
import { VisitorLeadBody } from './visitor-lead'

const LeadStatuses = named('LeadStatusList', {
  data: Type.Array(enumeration(LEAD_STATUSES), { examples: [LEAD_STATUSES] }),
})

const ANSWER = JSON.stringify({ data: LEAD_STATUSES })

/** Implements the lead API, section List Lead Statuses. */
export const listLeadStatuses = operation({
  route: 'GET /leads/statuses',
  tag: 'Leads',
  summary: 'List lead statuses',
  answer: { description: 'The valid lead statuses.', schema: LeadStatuses },
  handler: async () => ANSWER,
})

/** Implements the lead API, section Retrieve Lead. */
export const retrieveLead = operation({
  route: 'GET /leads/:reference',
  tag: 'Leads',
  summary: 'Retrieve a lead',
  etag: 'read',
  answer: recordResponse(Lead, 'The lead with its customer and quotes.'),
  callCost: BATCHED_CALL_COST,
  handler: async ({ leadKey, reply, clients, limits }) => {
    const { body, etag } = await clients.retrieveLead(leadKey(), limits)
    return unlessKnown(reply, etag, body)
  },
})

export const retrieveManagedLead = operation({
  route: 'GET /manage/leads/:reference',
  summary: 'Retrieve a lead with its attributes',
  description:
    'Returns the lead as in Retrieve Lead, with `external_id`, `attributes`, `duplicate_of` and the assigned `user`. The ETag also changes when the user is renamed or removed.',
  etag: 'read',
  answer: recordResponse(ManagedLead, 'The lead with all its stored fields.'),
  handler: async ({ leadKey, reply, clients, limits }) => {
    const { body, etag } = await clients.leads.retrieveManagedLead(leadKey(), limits)
    return unlessKnown(reply, etag, body)
  },
})

const CHANGED = Object.keys(VisitorLeadBody.properties).filter(
  (name) => !['status', 'value', 'user_id'].includes(name),
)

const CHANGED_FIELDS = ['status', 'value', 'user', 'appointment', 'callback', 'duplicate_of', ...CHANGED]

export const FieldChange = described(
  'LeadFieldChange',
  'A changed field. If `field` is `user`, `from` and `to` have the `id` and the present `email` of the user, or null for no user. The email is null if the user was removed. If `field` is `appointment` or `callback`, `from` and `to` have the `id`, the `user_id`, the `date` and `done_at`; `to` is null after a cancellation. For personal fields, `external_id`, quotes and attributes, `from` and `to` are always null.',
  {
    field: Type.Unsafe({
      ...enumeration(CHANGED_FIELDS, undefined, 'status'),
      // The names are in upper case. In lower case, `name` and `value` would clash with the properties of
      // generated Kotlin enumerations.
      'x-enum-varnames': CHANGED_FIELDS.map((field) => field.toUpperCase()),
    }),
    from: Type.Unknown({ description: 'The previous value.', examples: ['open'] }),
    to: Type.Unknown({ description: 'The new value.', examples: ['sold'] }),
  },
)

export const LeadHistoryEntry = described('LeadHistoryEntry', 'One change of a lead.', {
  version: Type.Integer(
    describe('Version of the lead after the change. The ETag of the lead starts with this number.', 2),
  ),
  at: timestamp(
    'When the change took place. Equals `updated_at` of the lead at that time, unless only an appointment or a callback was changed.',
  ),
  action: enumeration(['created', 'updated', 'erased'], undefined, 'updated'),
  actor: orNull(Actor, 'The user or the token that made the change. null if neither is recorded.'),
  token: orNull(
    TokenName,
    'The token that made the change. null if a user made it, or if no token is recorded.',
  ),
  request_id: requestIdOfChange,
  changes: Type.Array(FieldChange, {
    description:
      'The changed fields. Empty for the creation and the erasure of the lead. An erasure also clears `from` and `to` of earlier changes.',
  }),
})

export const listLeadHistory = leadListOperation({
  route: 'GET /manage/leads/:reference/history',
  summary: "List a lead's history",
  description: 'Returns who created and changed a lead, with the time and the changed fields.',
  record: LeadHistoryEntry,
  find: ({ clients, limits }, asked) => clients.leads.listLeadHistory(asked, limits),
})
