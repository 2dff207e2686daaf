import { leadListOperation } from '../api/list-operation'
import { Scheduled } from './schedule-fields'

/** GET /leads/:reference/appointments. */
export const listAppointments = leadListOperation({
  url: '/leads/:reference/appointments',
  operationId: 'listAppointments',
  tag: 'Scheduling',
  summary: 'List appointments',
  record: Scheduled,
  find: ({ clients, limits }, asked) => clients.leads.listAppointments(asked, limits),
})
