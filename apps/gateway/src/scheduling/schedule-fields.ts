import type { Appointment } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { idempotencyOf, replayable } from '../api/idempotency'
import { type Call, operation } from '../api/operation'
import { referenceErrors } from '../api/reference-errors'
import { type Answer, leadReferenceSchema, named, timestamp } from '../api/schemas'
import { bodyOf } from '../body/body'
import { describe, id, text } from '../validation/fields'
import { localInstant } from '../validation/local-instant'

const ScheduleFields = named('ScheduleRequest')({
  notify: Type.Boolean(describe('Whether to notify the user.', true)),
  user_id: id('User it is assigned to.', 1),
  date: text(
    'Requested date and time, `dd/mm/yyyy hh:mm`, on the clocks of the United Kingdom.',
    '24/12/2026 14:30',
    { format: 'local-date-time' },
  ),
})

export const Scheduled = named(
  'Scheduled',
  'An appointment or a callback.',
)({
  id: Type.Integer({ examples: [1] }),
  lead_reference: leadReferenceSchema(),
  user_id: Type.Integer({ examples: [1] }),
  date: timestamp('When it is to take place, in UTC.'),
  notify: Type.Boolean({ examples: [true] }),
  created_at: timestamp('When it was scheduled.'),
})

/** An operation that schedules an entry. `create` resolves with the JSON of the response. */
export const scheduleOperation = (
  about: { route: `POST /leads/:reference/${string}`; operationId: string; summary: string; answer: Answer },
  create: (
    call: Call<unknown>,
    entry: Appointment,
  ) => Promise<{ body: Uint8Array; replayed?: boolean | undefined }>,
) =>
  operation({
    ...about,
    tag: 'Scheduling',
    description: 'The status of the lead does not change by it.',
    scope: 'leads',
    idempotent: true,
    problems: ['lead-erased'],
    body: ScheduleFields,
    handler: async (call) => {
      const { request, leadReference, reply, accountId } = call
      const body = bodyOf(request)
      const idempotency = idempotencyOf(request, body.fields)
      const reference = leadReference()
      const {
        user_id: userId,
        notify,
        date: given,
      } = await call.valid((fields) =>
        referenceErrors(call, { leadReference: reference, userId: fields['user_id'] }),
      )
      const date = localInstant(given, call.timeZone)!
      return replayable(
        reply,
        await create(call, { accountId, reference, userId, notify, date, idempotency }),
      )
    },
  })
