import type { Appointment } from '@leadwire/contracts'
import { describe, id, optional, parseLocalInstant, text } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { readIdempotency, renderSaved, type Saved } from '../api/call-limits'
import { findLead } from '../api/find-lead'
import { leadListOperation } from '../api/list-operation'
import { type Call, operation } from '../api/operation'
import {
  described,
  leadReferenceSchema,
  named,
  nullableTimestamp,
  recordResponse,
  timestamp,
} from '../api/schemas'
import { readBody } from '../body/parse-body'

export const ScheduleFields = named('ScheduleRequest', {
  notify: Type.Boolean(describe('Whether to notify the assigned user.', true)),
  user_id: id('The ID of the assigned user.', 1),
  date: text(
    'Requested date and time, `dd/mm/yyyy hh:mm`, in the time zone of the service (default Europe/London).',
    '24/12/2026 14:30',
    { format: 'local-date-time' },
  ),
  ...optional({
    remind: Type.Boolean(
      describe(
        'Whether to send the assigned user a reminder by email when the appointment or callback is due (`appointment_due_minutes` and `callback_due_minutes` of the account). Default false.',
        true,
      ),
    ),
  }),
})

export const Scheduled = described('Scheduled', 'An appointment or a callback.', {
  id: Type.Integer({ examples: [1] }),
  lead_reference: leadReferenceSchema(),
  user_id: Type.Integer({ examples: [1] }),
  date: timestamp('When the appointment or callback takes place. ISO 8601, UTC.'),
  notify: Type.Boolean({ examples: [true] }),
  created_at: timestamp('When the appointment or callback was scheduled.'),
})

export const ScheduledRecord = described('ScheduledRecord', 'An appointment or a callback, as it is now.', {
  ...Scheduled.properties,
  cancelled_at: nullableTimestamp('When the appointment or callback was cancelled. null until then.'),
  done_at: nullableTimestamp(
    'When the appointment or callback was marked as done. null until then, and after it was opened again.',
  ),
  remind: Type.Boolean({
    description: 'Whether the assigned user gets a reminder when the appointment or callback is due.',
    examples: [false],
  }),
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
    answer: recordResponse(Scheduled, `The ${subject}.`),
    tag: 'Scheduling',
    description: 'Scheduling does not change the status of the lead.',
    idempotent: true,
    problems: ['lead-erased'],
    body: ScheduleFields,
    handler: async (call) => {
      const { request, reply } = call
      const idempotency = readIdempotency(request, readBody(request).fields)
      const key = call.leadKey()
      const { user_id: userId, ...given } = await call.valid(() => findLead(call))
      const date = parseLocalInstant(given.date, call.dependencies.timeZone)!
      const { remind = false } = given
      return renderSaved(
        reply,
        await create(call, { ...key, userId, notify: given.notify, date, idempotency, remind }),
      )
    },
  })

/** Implements the lead API, section Schedule Appointment. */
export const scheduleAppointment = scheduleOperation('appointment', ({ clients, limits }, appointment) =>
  clients.leads.scheduleAppointment({ appointment }, limits),
)

/** Implements the lead API, section Schedule Callback. */
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
