import { leadListOperation } from '../api/list-operation'
import { Scheduled } from './schedule-fields'

/** GET /leads/:reference/callbacks. */
export const listCallbacks = leadListOperation({
  url: '/leads/:reference/callbacks',
  operationId: 'listCallbacks',
  tag: 'Scheduling',
  summary: 'List callbacks',
  record: Scheduled,
  find: ({ clients, limits }, asked) => clients.leads.listCallbacks(asked, limits),
})
