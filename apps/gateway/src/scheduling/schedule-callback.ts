import { dataOf } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { sendJson } from '../http/send-json'
import { operation } from '../operation'
import { readEntry, SCHEDULING } from './schedule-fields'

/** POST /leads/:reference/callbacks (interface: Schedule Callback). */
export const scheduleCallback = operation({
  ...SCHEDULING,
  url: '/leads/:reference/callbacks',
  operationId: 'scheduleCallback',
  summary: 'Schedule a callback',
  answer: { description: 'The callback.', schema: dataOf({ $ref: 'Scheduled#' }) },
  handler: async (_request, reply, dependencies) => {
    const callback = await readEntry(dependencies, reply)
    const { body } = await dependencies.clients.leads.scheduleCallback({ callback }, limitsOf(reply))
    return sendJson(reply, body)
  },
})
