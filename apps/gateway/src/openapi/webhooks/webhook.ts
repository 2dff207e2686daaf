import type { TSchema } from '@sinclair/typebox'

const header = (name: string, description: string, required = true) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
})

const HEADERS = [
  header('User-Agent', '`Leadwire/` and the version.'),
  header(
    'X-SERVICE-Signature',
    "The lower-case hexadecimal HMAC-SHA1 of the raw body; its key is the endpoint's secret.",
  ),
  header('X-SERVICE-Account-Key', "The account's API key."),
  header('webhook-id', "The event's id, the same on every attempt (Standard Webhooks 1.0.0)."),
  header('webhook-timestamp', 'When the attempt began, in seconds since 1970.'),
  header(
    'webhook-signature',
    '`v1,` and an HMAC-SHA256 (Standard Webhooks 1.0.0). While a secret is being replaced there is one of each secret, with a space between.',
  ),
  header(
    'webhook-sequence',
    "The event's number in its account's log: 1, 2, 3 … without gaps. Absent from a test send.",
    false,
  ),
  header('webhook-lead-version', "The lead's version after the change; a new lead has version 1."),
  header('traceparent', 'W3C trace context.'),
]

const RETRIES =
  'An attempt that is not answered with 2xx in time is repeated after 60 seconds, 5 minutes, 15 minutes, 30 minutes and 1 hour.'

/** A webhook, as the OpenAPI document has it (interface: Events). */
export const webhook = (described: {
  operationId: string
  summary: string
  /** When it is sent. */
  description: string
  body: TSchema
}) => ({
  post: {
    operationId: described.operationId,
    tags: ['Events'],
    summary: described.summary,
    description: `${described.description} ${RETRIES}`,
    security: [],
    parameters: HEADERS,
    requestBody: { required: true, content: { 'application/json': { schema: described.body } } },
    responses: {
      '2XX': { description: 'The webhook has arrived. The body of the answer is kept, up to 4 KiB.' },
      '4XX': { description: 'The attempt failed, as with every other status.' },
    },
  },
})
