import { RotateWebhookSecret } from '@leadwire/requests'
import { parseDuration } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { named, recordResponse, timestamp } from '../api/schemas'
import { EndpointRecord, renderEndpoint } from './endpoint-schemas'
import { readEndpointChange } from './webhook-endpoints'

const RotatedEndpoint = named('RotatedWebhookEndpoint', {
  ...EndpointRecord.properties,
  secret: Type.String({
    description: 'The new signing key, shown only in this response.',
    examples: ['whsec_…'],
  }),
  old_secret_until: timestamp('When the old secret stops signing.'),
})

export const rotateWebhookSecret = operation({
  route: 'POST /manage/webhook-endpoints/:id/rotate-secret',
  summary: "Rotate a webhook endpoint's secret",
  description:
    'Replaces the signing secret. During the `overlap`, `X-SERVICE-Signature` uses the old secret, and `webhook-signature` has one signature for each secret. After the overlap, both headers use only the new secret. If the secret is rotated again during an overlap, `X-SERVICE-Signature` continues to use the oldest secret. All old secrets stop signing at the latest when the newest overlap ends. An `overlap` of `0s` ends all old secrets at once.',
  body: RotateWebhookSecret,
  savesResponse: true,
  answer: recordResponse(RotatedEndpoint, 'The endpoint with its new secret.'),
  problems: ['conflict'],
  handler: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const asked = { ...key, overlapMs: parseDuration(value.overlap ?? '24h'), secret: value.secret }
    const rotated = await call.clients.webhooks.rotateWebhookSecret(asked, call.limits)
    const { endpoint, secret, oldSecretUntil } = rotated
    const { created_at, updated_at, ...record } = renderEndpoint(endpoint!)
    return { ...record, secret, old_secret_until: oldSecretUntil, created_at, updated_at }
  },
})
