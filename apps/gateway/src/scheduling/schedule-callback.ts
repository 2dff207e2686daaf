import { dataOf } from '../docs/shared-schemas'
import { replayable } from '../http/idempotency'
import { operation } from '../operation'
import { readEntry, SCHEDULING, Scheduled } from './schedule-fields'

/** POST /leads/:reference/callbacks (interface: Schedule Callback). */
export const scheduleCallback = operation({
  ...SCHEDULING,
  url: '/leads/:reference/callbacks',
  operationId: 'scheduleCallback',
  summary: 'Schedule a callback',
  answer: { description: 'The callback.', schema: dataOf(Scheduled) },
  handler: async (call) => {
    const callback = await readEntry(call)
    return replayable(call.reply, await call.clients.leads.scheduleCallback({ callback }, call.limits))
  },
})
