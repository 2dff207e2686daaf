import { dataOf } from '../docs/shared-schemas'
import { operation } from '../operation'
import { readEntry, SCHEDULING } from './schedule-fields'

/** POST /leads/:reference/callbacks (interface: Schedule Callback). */
export const scheduleCallback = operation({
  ...SCHEDULING,
  url: '/leads/:reference/callbacks',
  operationId: 'scheduleCallback',
  summary: 'Schedule a callback',
  answer: { description: 'The callback.', schema: dataOf({ $ref: 'Scheduled#' }) },
  handler: async (call) => {
    const callback = await readEntry(call)
    const { body } = await call.clients.leads.scheduleCallback({ callback }, call.limits)
    return body
  },
})
