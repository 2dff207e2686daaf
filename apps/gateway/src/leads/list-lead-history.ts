import { leadListOperation } from '../api/list-operation'
import { LeadHistoryEntry } from './lead-history-schema'

export const listLeadHistory = leadListOperation({
  route: 'GET /manage/leads/:reference/history',
  operationId: 'listLeadHistory',
  summary: "List a lead's history",
  description: 'Who created and changed a lead, when and how.',
  scope: 'manage',
  record: LeadHistoryEntry,
  find: ({ clients, limits }, asked) => clients.leads.listLeadHistory(asked, limits),
})
