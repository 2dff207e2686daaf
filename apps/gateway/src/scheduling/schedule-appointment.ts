import { dataOf } from '../docs/shared-schemas'
import { replayable } from '../http/idempotency'
import { operation } from '../operation'
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
