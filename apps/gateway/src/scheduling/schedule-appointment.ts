import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdempotencyHeader, LeadParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { sendJson } from '../http/send-json'
import { readEntry, ScheduleFields } from './schedule-fields'

/** POST /leads/:reference/appointments (interface: Schedule Appointment). */
export const scheduleAppointment = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { authenticate, clients } = dependencies
  const read = readEntry(dependencies)
  app.post(
    '/leads/:reference/appointments',
    {
      onRequest: authenticate('leads'),
      schema: describe({
        operationId: 'scheduleAppointment',
        tag: 'Scheduling',
        summary: 'Schedule an appointment',
        description: 'The status of the lead does not change by it.',
        scope: 'leads',
        params: LeadParams,
        headers: IdempotencyHeader,
        body: ScheduleFields,
        answer: { description: 'The appointment.', schema: dataOf({ $ref: 'Scheduled#' }) },
        problems: ['not-found', 'conflict'],
      }),
    },
    async (_request, reply) => {
      const appointment = await read(reply)
      const { body } = await clients.leads.scheduleAppointment({ appointment }, limitsOf(reply))
      return sendJson(reply, body)
    },
  )
}
