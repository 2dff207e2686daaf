import { leadListOperation } from '../api/list-operation'
import { Scheduled } from './schedule-fields'

export const listAppointments = leadListOperation({
  route: 'GET /leads/:reference/appointments',
  operationId: 'listAppointments',
  tag: 'Scheduling',
  summary: 'List appointments',
  record: Scheduled,
  find: ({ clients, limits }, asked) => clients.leads.listAppointments(asked, limits),
})
