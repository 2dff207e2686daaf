import type { Appointment } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { idempotencyOf, replayable, type Saved } from '../api/idempotency'
import { leadListOperation } from '../api/list-operation'
import { type Call, operation } from '../api/operation'
import { referenceErrors } from '../api/reference-errors'
import { dataOf, described, leadReferenceSchema, named, nullableTimestamp, timestamp } from '../api/schemas'
import { bodyOf } from '../body/body'
import { describe, id, text } from '../validation/fields'
import { localInstant } from '../validation/local-instant'

export const ScheduleFields = named('ScheduleRequest', {
  notify: Type.Boolean(describe('Whether to notify the user.', true)),
  user_id: id('User it is assigned to.', 1),
  date: text(
    'Requested date and time, `dd/mm/yyyy hh:mm`, on the clocks of the United Kingdom.',
    '24/12/2026 14:30',
    { format: 'local-date-time' },
  ),
})

export const Scheduled = described('Scheduled', 'An appointment or a callback.', {
  id: Type.Integer({ examples: [1] }),
  lead_reference: leadReferenceSchema(),
  user_id: Type.Integer({ examples: [1] }),
  date: timestamp('When it is to take place, in UTC.'),
  notify: Type.Boolean({ examples: [true] }),
  created_at: timestamp('When it was scheduled.'),
})

export const ScheduledRecord = described('ScheduledRecord', 'An appointment or a callback as it is now.', {
  ...Scheduled.properties,
  cancelled_at: nullableTimestamp('Null until it is cancelled.'),
})

export const SUBJECTS = { appointment: 'an appointment', callback: 'a callback' }

export type Subject = keyof typeof SUBJECTS

const scheduleOperation = (
  subject: Subject,
  create: (call: Call<unknown>, entry: Appointment) => Promise<Saved>,
) =>
  operation({
    route: `POST /leads/:reference/${subject}s`,
    summary: `Schedule ${SUBJECTS[subject]}`,
    answer: dataOf(Scheduled, `The ${subject}.`),
    tag: 'Scheduling',
    description: 'The status of the lead does not change by it.',
    idempotent: true,
    problems: ['lead-erased'],
    body: ScheduleFields,
    handler: async (call) => {
      const { request, reply } = call
      const idempotency = idempotencyOf(request, bodyOf(request).fields)
      const key = call.leadKey()
      const { user_id: userId, ...given } = await call.valid((fields) =>
        referenceErrors(call, { userId: fields['user_id'] }),
      )
      const date = localInstant(given.date, call.dependencies.timeZone)!
      return replayable(
        reply,
        await create(call, { ...key, userId, notify: given.notify, date, idempotency }),
      )
    },
  })

/** Interface: Schedule Appointment. */
export const scheduleAppointment = scheduleOperation('appointment', ({ clients, limits }, appointment) =>
  clients.leads.scheduleAppointment({ appointment }, limits),
)

/** Interface: Schedule Callback. */
export const scheduleCallback = scheduleOperation('callback', ({ clients, limits }, callback) =>
  clients.leads.scheduleCallback({ callback }, limits),
)

export const listAppointments = leadListOperation({
  route: 'GET /leads/:reference/appointments',
  tag: 'Scheduling',
  summary: 'List appointments',
  record: ScheduledRecord,
  find: ({ clients, limits }, asked) => clients.leads.listAppointments(asked, limits),
})

export const listCallbacks = leadListOperation({
  route: 'GET /leads/:reference/callbacks',
  tag: 'Scheduling',
  summary: 'List callbacks',
  record: ScheduledRecord,
  find: ({ clients, limits }, asked) => clients.leads.listCallbacks(asked, limits),
})
