import { parseDuration } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf, named, timestamp } from '../api/schemas'
import { text } from '../validation/fields'
import { EndpointRecord, endpointRecord, endpointSecret } from './endpoint-schemas'
import { readEndpointChange } from './webhook-endpoints'

const RotateWebhookSecret = named('RotateWebhookSecretRequest', {
  overlap: Type.Optional(
    text(
      'How long the secret that is replaced still signs: `0s`, `15m`, `24h` …, at most `30d`. By default `24h`.',
      '24h',
      { format: 'overlap' },
    ),
  ),
  secret: Type.Optional(endpointSecret),
})

const RotatedEndpoint = named('RotatedWebhookEndpoint', {
  ...EndpointRecord.properties,
  secret: Type.String({ description: 'The new key, shown only here.', examples: ['whsec_…'] }),
  old_secret_until: timestamp('From then on the new secret signs alone.'),
})

export const rotateWebhookSecret = operation({
  route: 'POST /manage/webhook-endpoints/:id/rotate-secret',
  summary: "Rotate a webhook endpoint's secret",
  description:
    'Until the overlap ends `X-SERVICE-Signature` is made with the old secret, and `webhook-signature` carries a signature of each; after it both are made with the new one alone. Rotated again meanwhile, the oldest secret keeps the header, and no old one lasts longer than the newest overlap: `0s` ends them all.',
  body: RotateWebhookSecret,
  savesResponse: true,
  answer: dataOf(RotatedEndpoint, 'The endpoint with its new secret.'),
  problems: ['conflict'],
  handler: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const asked = { ...key, overlapMs: parseDuration(value.overlap ?? '24h'), secret: value.secret }
    const rotated = await call.clients.webhooks.rotateWebhookSecret(asked, call.limits)
    const { endpoint, secret, oldSecretUntil } = rotated
    const { created_at, updated_at, ...record } = endpointRecord(endpoint!)
    return { ...record, secret, old_secret_until: oldSecretUntil, created_at, updated_at }
  },
})
