import { ATTEMPT_ERRORS, EVENT_TYPES } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { recordOf } from '../api/record'
import { leadReferenceSchema, named, nullableOf, nullableTimestamp, timestamp } from '../api/schemas'
import { oneOf, text } from '../validation/fields'

const DELIVERY_STATUSES = ['pending', 'delivered', 'exhausted', 'held', 'cancelled'] as const

/** The filters of deliveries and notifications. */
export const DELIVERY_FILTERS = {
  status: oneOf(DELIVERY_STATUSES, 'Only those in this state.', 'pending'),
  lead_reference: text('Only those of this lead.', '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10', {
    format: 'uuid',
  }),
}

export const DeliveryRecord = named(
  'Delivery',
  'One event on its way to one endpoint.',
)({
  id: Type.Integer({ examples: [1] }),
  endpoint_id: Type.Integer({ examples: [1] }),
  event_id: Type.String({
    format: 'uuid',
    description: "Also the webhook's `webhook-id`.",
    examples: ['4a2f7d0c-3e6a-4b7e-8d51-1f0f5d6c7b8a'],
  }),
  event: oneOf(EVENT_TYPES, 'What it is about.', 'lead.created'),
  lead_reference: leadReferenceSchema(),
  status: oneOf(DELIVERY_STATUSES, undefined, 'delivered'),
  attempt_count: Type.Integer({ examples: [1] }),
  next_attempt_at: nullableTimestamp('Null unless another attempt is to come.'),
  created_at: timestamp('When it was recorded.'),
  updated_at: timestamp('When it changed last.'),
})

export const AttemptRecord = named('Attempt')({
  number: Type.Integer({ examples: [1] }),
  started_at: timestamp('When it began.'),
  duration_ms: Type.Integer({ description: 'In milliseconds.', examples: [84] }),
  status: nullableOf('integer', "The answer's status, HTTP's or SMTP's; null when there was no answer.", 200),
  error: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    enum: [...ATTEMPT_ERRORS, null],
    description: 'Why the attempt failed; null on success.',
    examples: [null],
  }),
  response: nullableOf('string', 'The first 4 KiB of the answer: of HTTP its body, of SMTP all of it.', 'ok'),
})

export const deliveryRecord = recordOf(DeliveryRecord)

export const attemptRecord = recordOf(AttemptRecord)
