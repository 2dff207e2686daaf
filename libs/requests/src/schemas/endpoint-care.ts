import { EVENT_TYPES } from '@leadwire/contracts'
import type { FieldErrors } from '@leadwire/service-kit/runtime'
import { Type } from '@sinclair/typebox'
import type { ListErrors } from '../validation/check-fields'
import { describe, enumeration, instant, integer, partial, text } from '../validation/fields'
import { isInstant } from '../validation/instants'
import { endpointSecret, eventTypes } from './webhook-endpoints'

export const RotateWebhookSecret = Type.Object(
  {
    overlap: Type.Optional(
      text(
        'How long the replaced secret continues to sign: `0s`, `15m`, `24h` … At most `30d`. Default `24h`.',
        '24h',
        { format: 'overlap' },
      ),
    ),
    secret: Type.Optional(endpointSecret),
  },
  { title: 'RotateWebhookSecretRequest' },
)

export const TestWebhookEndpoint = Type.Object(
  {
    type: Type.Optional(
      enumeration(
        EVENT_TYPES,
        'Event type of the sample. Default: the first type that the endpoint subscribes to.',
        'lead.created',
      ),
    ),
    lead_reference: Type.Optional(
      text(
        "Reference of a lead to check against the endpoint's filter. The sample is sent whether or not the lead passes.",
        undefined,
        { format: 'uuid' },
      ),
    ),
  },
  { title: 'TestWebhookEndpointRequest' },
)

const REPLAY_STATES = ['undelivered', 'exhausted', 'all'] as const

export const RecoverWebhookEndpoint = Type.Object(
  {
    since: instant(
      'Only deliveries of events that were created at or after this time. ISO 8601 with an offset.',
      '2026-11-20T00:00:00Z',
    ),
    state: Type.Optional(
      enumeration(
        REPLAY_STATES,
        'Which deliveries are attempted. `exhausted` (default): deliveries that have no retries left. `undelivered`: exhausted deliveries, and deliveries that wait for a retry. `all`: exhausted, waiting and delivered deliveries.',
        'undelivered',
      ),
    ),
  },
  { title: 'RecoverWebhookEndpointRequest' },
)

export const ReplayWebhookEndpoint = partial(
  {
    after_sequence: integer('Only events with a higher `sequence`.', 1200, { minimum: 0 }),
    until_sequence: integer('Only events up to this `sequence`. Default: the newest event.', 1800, {
      minimum: 1,
    }),
    from: instant(
      'Only events with `created_at` at or after this time. ISO 8601 with an offset.',
      '2026-11-20T09:00:00Z',
    ),
    to: instant(
      'Only events with `created_at` before this time. ISO 8601 with an offset.',
      '2026-11-20T11:00:00Z',
    ),
    types: eventTypes(
      'Only events of these types, subscribed or not. Default: the types that the endpoint subscribes to.',
    ),
    state: enumeration(
      REPLAY_STATES,
      'Which events are sent. `undelivered` (default): events whose delivery is exhausted or waits for a retry, and events without a delivery to the endpoint. `exhausted`: only events whose delivery is exhausted. `all`: undelivered and delivered events.',
      'undelivered',
    ),
    dry_run: Type.Boolean(
      describe('Whether to only count the matching events, without sending any. Default false.', false),
    ),
  },
  { title: 'ReplayWebhookEndpointRequest' },
)

const isReadable = (value: unknown): value is string => typeof value === 'string' && isInstant(value)

/** Lists the errors of the ranges of a replay. A range must end after it begins. */
export const listReplayErrors: ListErrors = ({
  after_sequence: after = 0,
  until_sequence: until,
  from,
  to,
}) => {
  const errors: FieldErrors = {}
  if (typeof after === 'number' && typeof until === 'number' && until >= 1 && until <= after)
    errors['until_sequence'] = ['The until sequence must be greater than the after sequence.']
  if (isReadable(from) && isReadable(to) && Date.parse(from) >= Date.parse(to))
    errors['to'] = ['The field to must be later than the field from.']
  return errors
}
