import type { ScheduleCallbackRequest, ScheduleCallbackResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { schedule } from './schedule'

/** interface: Schedule Callback. */
export const scheduleCallback =
  (deps: { database: Database }) =>
  ({ callback }: ScheduleCallbackRequest): Promise<ScheduleCallbackResponse> =>
    schedule(deps, 'callback', callback)
