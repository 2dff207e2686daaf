import { ATTEMPT_ERRORS, EVENT_TYPES } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { describe, enumeration, id, instant, partial, text } from '../validation/fields'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'exhausted', 'held', 'cancelled'] as const

const filters = {
  status: enumeration(DELIVERY_STATUSES, 'Only records with this status.', 'pending'),
  lead_reference: text(
    'Only records of leads whose reference starts with this text. At least the first 4 digits are required.',
    '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10',
    { format: 'uuid-start' },
  ),
}

export const NotificationFilters = partial(filters)

export const DeliveryFilters = partial({
  endpoint_id: id('Only deliveries to the webhook endpoint with this ID.', 1),
  ...filters,
  from: instant('Only deliveries created at or after this time. ISO 8601 with an offset.'),
  to: instant('Only deliveries created before this time. ISO 8601 with an offset.'),
  type: enumeration(EVENT_TYPES, 'Only deliveries of this event type.', 'lead.created'),
  error: enumeration(ATTEMPT_ERRORS, 'Only deliveries whose last attempt failed with this error.', 'timeout'),
  failed: Type.Boolean(
    describe(
      'true: only deliveries whose last attempt failed. false: only deliveries whose last attempt succeeded, or that have no attempt yet.',
    ),
  ),
})
