import { leadListOperation } from '../api/list-operation'
import { LeadHistoryEntry } from './lead-history-schema'

/** GET /manage/leads/:reference/history. */
export const listLeadHistory = leadListOperation({
  url: '/manage/leads/:reference/history',
  operationId: 'listLeadHistory',
  tag: 'Management',
  summary: "List a lead's history",
  description: 'Who created and changed a lead, when and how.',
  scope: 'manage',
  record: LeadHistoryEntry,
  find: ({ clients, limits }, asked) => clients.leads.listLeadHistory(asked, limits),
})
