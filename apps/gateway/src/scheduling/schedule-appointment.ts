import { dataOf } from '../api/schemas'
import { Scheduled, scheduleOperation } from './schedule-fields'

/** Interface: Schedule Appointment. */
export const scheduleAppointment = scheduleOperation(
  {
    route: 'POST /leads/:reference/appointments',
    operationId: 'scheduleAppointment',
    summary: 'Schedule an appointment',
    answer: dataOf(Scheduled, 'The appointment.'),
  },
  ({ clients, limits }, appointment) => clients.leads.scheduleAppointment({ appointment }, limits),
)
