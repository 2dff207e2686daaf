import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdempotencyHeader, LeadParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { sendJson } from '../http/send-json'
import { readEntry, ScheduleFields } from './schedule-fields'

/** POST /leads/:reference/callbacks (interface: Schedule Callback). */
export const scheduleCallback = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { authenticate, clients } = dependencies
  const read = readEntry(dependencies)
  app.post(
    '/leads/:reference/callbacks',
    {
      onRequest: authenticate('leads'),
      schema: describe({
        operationId: 'scheduleCallback',
        tag: 'Scheduling',
        summary: 'Schedule a callback',
        description: 'The status of the lead does not change by it.',
        scope: 'leads',
        params: LeadParams,
        headers: IdempotencyHeader,
        body: ScheduleFields,
        answer: { description: 'The callback.', schema: dataOf({ $ref: 'Scheduled#' }) },
        problems: ['not-found', 'conflict'],
      }),
    },
    async (_request, reply) => {
      const callback = await read(reply)
      const { body } = await clients.leads.scheduleCallback({ callback }, limitsOf(reply))
      return sendJson(reply, body)
    },
  )
}
