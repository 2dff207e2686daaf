import type { Endpoint } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { timestamp } from '../docs/shared-schemas'
import { notes, nullable, text } from '../validation/fields'

export const endpointFields = {
  url: text(
    'Where webhooks are sent: http or https, without credentials.',
    'https://crm.example.com/webhooks/leads',
    { maxLength: 2048, format: 'web-url' },
  ),
  description: nullable(text('For your own eyes. Null clears it.', 'CRM')),
  enabled: Type.Boolean(notes('While it is false, deliveries are held.', true)),
}

export const endpointSecret = text(
  'The key that signs, 16 bytes or more; by default one is made for you.',
  undefined,
  { minLength: 16, format: 'one-line' },
)

export const EndpointRecord = Type.Object(
  {
    id: Type.Integer({ examples: [1] }),
    url: Type.String({
      format: 'uri',
      description: 'Where webhooks are sent.',
      examples: ['https://crm.example.com/webhooks/leads'],
    }),
    description: endpointFields.description,
    enabled: endpointFields.enabled,
    created_at: timestamp('When it was made.'),
    updated_at: timestamp('When it changed last.'),
  },
  { title: 'WebhookEndpoint', description: 'An address that webhooks are sent to.' },
)

/** An endpoint's public record, without its secret. */
export const endpointRecord = (endpoint: Endpoint) => ({
  id: endpoint.id,
  url: endpoint.url,
  description: endpoint.description ?? null,
  enabled: endpoint.enabled,
  created_at: endpoint.createdAt,
  updated_at: endpoint.updatedAt,
})
