import { replayable } from '../api/idempotency'
import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { readEntry, SCHEDULING, Scheduled } from './schedule-fields'

/** POST /leads/:reference/appointments (interface: Schedule Appointment). */
export const scheduleAppointment = operation({
  ...SCHEDULING,
  url: '/leads/:reference/appointments',
  operationId: 'scheduleAppointment',
  summary: 'Schedule an appointment',
  answer: { description: 'The appointment.', schema: dataOf(Scheduled) },
  handler: async (call) => {
    const appointment = await readEntry(call)
    return replayable(call.reply, await call.clients.leads.scheduleAppointment({ appointment }, call.limits))
  },
})
