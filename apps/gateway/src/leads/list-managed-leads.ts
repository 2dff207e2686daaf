import { LeadListItem, ListedCustomer, ManagedFields } from '@leadwire/contracts'
import { enumeration } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { described, named, orNull, PageQuery, pagedListSchema, timestamp } from '../api/schemas'
import { findLeads, sendLeads } from './find-leads'
import { ManagedLeadQuery, managedLeadFilters } from './lead-query'
import { assignedUser } from './managed-lead'

const NextEntry = named('NextEntry', {
  kind: enumeration(['appointment', 'callback'], undefined, 'appointment'),
  id: Type.Integer({ examples: [1] }),
  date: timestamp('The time of the appointment or callback.'),
  user_id: Type.Integer({ examples: [1] }),
})

const { duplicate_of, external_id } = ManagedFields.properties

const ManagedLeadListItem = described('ManagedLeadListItem', 'A lead in the list for people.', {
  ...LeadListItem.properties,
  customer: ListedCustomer,
  user: assignedUser,
  next: orNull(
    NextEntry,
    'The earliest appointment or callback that is neither cancelled nor done, also if its date has passed. null if there is none.',
  ),
  duplicate_of,
  external_id,
})

export const listManagedLeads = operation({
  route: 'GET /manage/leads',
  summary: 'List leads with customer, user and next date',
  description:
    'Returns leads as GET /leads does, with the data that people need in a list. The filters of GET /leads have the same meaning here; `user_id` replaces `assigned_to`. Filters can be combined. A response searches at most 10,000 leads, as in GET /leads.',
  query: Type.Object({ ...PageQuery.properties, ...ManagedLeadQuery.properties }),
  checks: ManagedLeadQuery,
  etag: 'read',
  answer: {
    description: 'A page of leads, or with `cursor` the next leads.',
    schema: pagedListSchema(ManagedLeadListItem, '/manage/leads'),
  },
  handler: async (call) => {
    const query = await call.valid()
    const filters = managedLeadFilters(query, call.dependencies.timeZone)
    return sendLeads(call.reply, await findLeads(call, query, { filters, managed: true }))
  },
})
