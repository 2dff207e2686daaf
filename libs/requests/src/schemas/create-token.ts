import { SCOPES, type Scope } from '@leadwire/contracts'
import type { FieldErrors } from '@leadwire/service-kit/runtime'
import { Type } from '@sinclair/typebox'
import { addErrors, type ListErrors, type UncheckedFields } from '../validation/check-fields'
import { describe, enumeration, id, instant, optional, text } from '../validation/fields'
import { labelField } from '../validation/messages'
import { isLeadField } from './capture-form'

export const PUBLISHABLE_SCOPES: readonly Scope[] = ['leads:create']

const SCOPES_WORDS =
  '`leads` includes `leads:read` and `leads:create`; `manage` includes `manage:read`, `webhooks`, `events:read` and `users:read`; `manage:read` includes `users:read`.'

export const CreateToken = Type.Object(
  {
    name: text('What the token is for.', 'Website form'),
    ...optional({
      scopes: Type.Array(enumeration(SCOPES, SCOPES_WORDS), {
        minItems: 1,
        maxItems: 10,
        description: 'Required unless `publishable` is true. A publishable token has only `leads:create`.',
        examples: [['leads']],
      }),
      expires_at: instant(
        'When the token expires: a future time, ISO 8601 with an offset. Default: never. Required if the token of the request expires.',
        '2030-01-01T00:00:00Z',
      ),
      endpoint_id: id(
        'The ID of the webhook endpoint that the token is restricted to. Requires `webhooks` as the only scope. Such a token cannot create or delete endpoints.',
      ),
      publishable: Type.Boolean(
        describe(
          'Publishable: safe to use in a public page. The token can only create leads, for pages of its origins and within rate limits.',
          false,
        ),
      ),
      origins: Type.Array(text('Origin, such as https://www.example.com.', undefined, { format: 'origin' }), {
        minItems: 1,
        maxItems: 20,
        description: 'Origins of the pages that may use the token. Required with `publishable`.',
      }),
      return_url: text('URL that `POST /capture/:token` redirects to. Only with `publishable`.', undefined, {
        maxLength: 2048,
        format: 'web-url',
      }),
      honeypot: Type.String({
        maxLength: 40,
        pattern: '^[A-Za-z][A-Za-z0-9_-]*$',
        description:
          'Name of a form field that is hidden from people. A form with a value in this field creates a lead with the status `spam`. Only with `publishable`.',
      }),
      test: Type.Boolean(
        describe(
          'Whether the token creates test leads. A test token is not a sandbox: it can read and change live data within its scopes. To try things out, use a second account. Default: true if the token of the request is a test token, otherwise false.',
          false,
        ),
      ),
    }),
  },
  { title: 'CreateTokenRequest' },
)

/**
 * Lists the errors of a token that is restricted to one endpoint. Such a token has only the scope
 * `webhooks`.
 */
const listEndpointErrors = (fields: UncheckedFields): FieldErrors => {
  if (fields['endpoint_id'] === undefined) return {}
  const { scopes } = fields
  const hasOtherScope = Array.isArray(scopes) && scopes.some((scope) => scope !== 'webhooks')
  if (fields['publishable'] !== true && !hasOtherScope) return {}
  return { endpoint_id: ['A token with an endpoint id may have only the scope webhooks.'] }
}

const NEED_PUBLISHABLE = ['origins', 'return_url', 'honeypot'] as const

const listPrivateErrors = (fields: UncheckedFields): FieldErrors => {
  const errors: FieldErrors = {}
  if (fields['scopes'] === undefined) errors['scopes'] = ['The scopes field is required.']
  for (const name of NEED_PUBLISHABLE)
    if (fields[name] !== undefined)
      errors[name] = [`The ${labelField(name)} is allowed only with publishable.`]
  return errors
}

const listPublishableErrors = ({ scopes, honeypot, origins }: UncheckedFields): FieldErrors => {
  const errors: FieldErrors = {}
  if (Array.isArray(scopes) && String(scopes) !== String(PUBLISHABLE_SCOPES))
    errors['scopes'] = ['A publishable token may have only the scope leads:create.']
  if (typeof honeypot === 'string' && isLeadField(honeypot))
    errors['honeypot'] = ['The honeypot must not be the name of a lead field.']
  if (origins === undefined) errors['origins'] = ['The origins field is required.']
  return errors
}

/** Lists the errors of a token's fields that depend on each other. */
export const listTokenErrors: ListErrors = (fields) => {
  const listOthers = fields['publishable'] === true ? listPublishableErrors : listPrivateErrors
  return addErrors(listEndpointErrors(fields), listOthers(fields))
}
