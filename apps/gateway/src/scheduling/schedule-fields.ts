import type { Appointment } from '@leadwire/contracts'
import { type Static, Type } from '@sinclair/typebox'
import { idempotencyOf } from '../api/idempotency'
import { leadReference } from '../api/lead-reference'
import type { Call } from '../api/operation'
import { refusal } from '../api/reference-errors'
import { LeadParams, leadReferenceSchema, timestamp } from '../api/schemas'
import { bodyOf } from '../body/body'
import { id, notes, text } from '../validation/fields'
import { localInstant } from '../validation/local-instant'

/** The fields of Schedule Appointment and Schedule Callback, in the order of the interface. */
export const ScheduleFields = Type.Object(
  {
    notify: Type.Boolean(notes('Whether to notify the user.', true)),
    user_id: id('User it is assigned to.', 1),
    date: text(
      'Requested date and time, `dd/mm/yyyy hh:mm`, on the clocks of the United Kingdom.',
      '24/12/2026 14:30',
      { format: 'local-date-time' },
    ),
  },
  { title: 'ScheduleRequest' },
)

export const Scheduled = Type.Object(
  {
    id: Type.Integer({ examples: [1] }),
    lead_reference: leadReferenceSchema(),
    user_id: Type.Integer({ examples: [1] }),
    date: timestamp('When it is to take place, in UTC.'),
    notify: Type.Boolean({ examples: [true] }),
    created_at: timestamp('When it was scheduled.'),
  },
  { title: 'Scheduled', description: 'An appointment or a callback.' },
)

/** What both operations have in common. */
export const SCHEDULING = {
  method: 'POST',
  tag: 'Scheduling',
  description: 'The status of the lead does not change by it.',
  scope: 'leads',
  params: LeadParams,
  idempotent: true,
  problems: ['lead-erased'],
  body: ScheduleFields,
} as const

/** What a request asks leads-service to schedule. Throws not_found, or invalid with every fault. */
export const readEntry = async (call: Call<Static<typeof ScheduleFields>>): Promise<Appointment> => {
  const { request, accountId } = call
  const body = bodyOf(request)
  const idempotency = idempotencyOf(request, body.fields)
  const reference = leadReference(request)
  const { value, faults, fields } = call.check(body)
  if (faults) {
    throw await refusal(call, faults, { leadReference: reference, userId: fields['user_id'] })
  }
  const date = localInstant(value.date, call.timeZone)!
  return { accountId, reference, userId: value.user_id, notify: value.notify, date, idempotency }
}
