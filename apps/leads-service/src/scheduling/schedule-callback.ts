import type { ScheduleCallbackRequest, ScheduleCallbackResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { schedule } from './schedule'

/** interface: Schedule Callback. */
export const scheduleCallback =
  (deps: { database: Database }) =>
  async ({ callback }: ScheduleCallbackRequest): Promise<ScheduleCallbackResponse> => ({
    body: await schedule(deps, 'callback', callback),
  })
