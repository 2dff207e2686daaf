import type { ScheduleCallbackRequest, ScheduleCallbackResponse } from '@leadwire/contracts'
import type { RecordingDeps } from '../outbox/record-events'
import { schedule } from './schedule'

/** interface: Schedule Callback. */
export const scheduleCallback =
  (deps: RecordingDeps) =>
  ({ callback }: ScheduleCallbackRequest): Promise<ScheduleCallbackResponse> =>
    schedule(deps, 'callback', callback)
