import { replayable } from '../api/idempotency'
import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
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
