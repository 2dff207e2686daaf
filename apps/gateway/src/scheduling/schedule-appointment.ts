import { dataOf } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { sendJson } from '../http/send-json'
import { operation } from '../operation'
import { readEntry, SCHEDULING } from './schedule-fields'

/** POST /leads/:reference/appointments (interface: Schedule Appointment). */
export const scheduleAppointment = operation({
  ...SCHEDULING,
  url: '/leads/:reference/appointments',
  operationId: 'scheduleAppointment',
  summary: 'Schedule an appointment',
  answer: { description: 'The appointment.', schema: dataOf({ $ref: 'Scheduled#' }) },
  handler: async (_request, reply, dependencies) => {
    const appointment = await readEntry(dependencies, reply)
    const { body } = await dependencies.clients.leads.scheduleAppointment({ appointment }, limitsOf(reply))
    return sendJson(reply, body)
  },
})
