import { dataOf } from '../api/schemas'
import { Scheduled, scheduleOperation } from './schedule-fields'

/** Interface: Schedule Callback. */
export const scheduleCallback = scheduleOperation(
  {
    route: 'POST /leads/:reference/callbacks',
    operationId: 'scheduleCallback',
    summary: 'Schedule a callback',
    answer: dataOf(Scheduled, 'The callback.'),
  },
  ({ clients, limits }, callback) => clients.leads.scheduleCallback({ callback }, limits),
)
