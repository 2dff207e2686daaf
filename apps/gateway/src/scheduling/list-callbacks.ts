import { leadListOperation } from '../api/list-operation'
import { Scheduled } from './schedule-fields'

export const listCallbacks = leadListOperation({
  route: 'GET /leads/:reference/callbacks',
  operationId: 'listCallbacks',
  tag: 'Scheduling',
  summary: 'List callbacks',
  record: Scheduled,
  find: ({ clients, limits }, asked) => clients.leads.listCallbacks(asked, limits),
})
