import type { ScheduleAppointmentRequest, ScheduleAppointmentResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { schedule } from './schedule'

/** interface: Schedule Appointment. */
export const scheduleAppointment =
  (deps: { database: Database }) =>
  ({ appointment }: ScheduleAppointmentRequest): Promise<ScheduleAppointmentResponse> =>
    schedule(deps, 'appointment', appointment)
