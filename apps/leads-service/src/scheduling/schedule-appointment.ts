import type { ScheduleAppointmentRequest, ScheduleAppointmentResponse } from '@leadwire/contracts'
import type { RecordingDeps } from '../outbox/record-events'
import { schedule } from './schedule'

/** interface: Schedule Appointment. */
export const scheduleAppointment =
  (deps: RecordingDeps) =>
  ({ appointment }: ScheduleAppointmentRequest): Promise<ScheduleAppointmentResponse> =>
    schedule(deps, 'appointment', appointment)
