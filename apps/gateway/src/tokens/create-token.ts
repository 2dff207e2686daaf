import { Temporal } from '@js-temporal/polyfill'
import { grants, SCOPES, type Scope, type VerifiedToken } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { isEndpoint } from '../api/has-endpoint'
import { type Call, operation } from '../api/operation'
import { dataOf, named } from '../api/schemas'
import { CaptureForm } from '../capture/capture-fields'
import { addErrors } from '../validation/errors'
import { describe, id, instant, oneOf, optional, text } from '../validation/fields'
import { inMicroseconds, isInstant } from '../validation/formats'
import { labelOf, selectedIsInvalid } from '../validation/messages'
import { TokenRecord, tokenRecord } from './tokens'

const SCOPES_WORDS =
  '`leads` includes `leads:read` and `leads:create`; `manage` includes `manage:read`, `webhooks` and `events:read`.'

/** The scopes of a publishable token. */
const PUBLISHABLE: readonly Scope[] = ['leads:create']

const CreateToken = named('CreateTokenRequest', {
  name: text('What the token is for.', 'Website form'),
  ...optional({
    scopes: Type.Array(oneOf(SCOPES, SCOPES_WORDS), {
      minItems: 1,
      maxItems: 10,
      description: 'Required, but for a publishable token, which has `leads:create` alone.',
      examples: [['leads']],
    }),
    expires_at: instant(
      'When it stops working, ISO 8601 with an offset, in the future. By default never; required with a token that expires.',
      '2030-01-01T00:00:00Z',
    ),
    endpoint_id: id(
      'With the scope `webhooks` alone: the one webhook endpoint that it sees. It creates none and deletes none.',
    ),
    publishable: Type.Boolean(
      describe(
        'It may stand in a public page: it creates leads for pages of its origins, within limits.',
        false,
      ),
    ),
    origins: Type.Array(text('Such as https://www.example.com.', undefined, { format: 'origin' }), {
      minItems: 1,
      maxItems: 20,
      description: 'Required with `publishable`: the origins of the pages.',
    }),
    return_url: text('With `publishable`: where `POST /capture/:token` sends people back to.', undefined, {
      maxLength: 2048,
      format: 'web-url',
    }),
    honeypot: Type.String({
      maxLength: 40,
      pattern: '^[A-Za-z][A-Za-z0-9_-]*$',
      description:
        'With `publishable`: a form field that people do not see. Who fills it in sends a lead with the status `spam`.',
    }),
    test: Type.Boolean(
      describe('Its leads are test leads. By default false; with a test token true.', false),
    ),
  }),
})

const CreatedToken = named('CreatedToken', {
  ...TokenRecord.properties,
  token: Type.String({ description: 'The token itself, shown only here.', examples: ['lw_live_…'] }),
})

// The schema refuses what is no instant.
const instantMs = (given: unknown): number | undefined =>
  typeof given === 'string' && isInstant(given) ? Temporal.Instant.from(given).epochMilliseconds : undefined

/**
 * A new token has no scope, no time and no live leads beyond the token that creates it. Otherwise a token for a test, or for a day,
 * would be worth as much as any.
 */
const excessErrors = (
  { scopes, expires_at: given, test }: Partial<Record<string, unknown>>,
  principal: VerifiedToken,
): FieldErrors => {
  const errors: FieldErrors = {}
  const wider = SCOPES.filter(
    (scope) => Array.isArray(scopes) && scopes.includes(scope) && !grants(principal.scopes, [scope]),
  )
  if (wider.length > 0)
    errors['scopes'] = [`This token can not give the scopes ${wider.join(', ')}: it does not have them.`]
  const latestMs = principal.expiresAtMs ?? Number.POSITIVE_INFINITY
  const expiresMs = typeof given === 'string' ? (instantMs(given) ?? latestMs) : Number.POSITIVE_INFINITY
  if (expiresMs > latestMs) {
    const latest = new Date(latestMs).toISOString()
    errors['expires_at'] = [
      `The expires at must be given and not be after ${latest}, when this token expires.`,
    ]
  }
  if (principal.test && test === false) errors['test'] = ['A test token makes test tokens only.']
  return errors
}

/** Errors of `endpoint_id`: it goes with one scope, and the account has such an endpoint. */
const endpointErrors = async (
  call: Call<unknown>,
  { scopes, endpoint_id: endpointId }: Partial<Record<string, unknown>>,
): Promise<FieldErrors> => {
  if (typeof endpointId !== 'number' || !Number.isSafeInteger(endpointId) || endpointId < 1) return {}
  if (Array.isArray(scopes) && scopes.some((scope) => scope !== 'webhooks'))
    return { endpoint_id: ['The endpoint id needs the scope webhooks alone.'] }
  return (await isEndpoint(call, endpointId)) ? {} : { endpoint_id: [selectedIsInvalid('endpoint_id')] }
}

const ALONE = ['origins', 'return_url', 'honeypot'] as const

/** Errors of the fields of a publishable token: they go with one another, and with one scope. */
const publishableErrors = ({
  publishable,
  scopes,
  ...fields
}: Partial<Record<string, unknown>>): FieldErrors => {
  if (publishable !== true) {
    const given = ALONE.filter((name) => fields[name] !== undefined)
    return {
      ...(scopes === undefined && { scopes: ['The scopes field is required.'] }),
      ...Object.fromEntries(given.map((name) => [name, [`The ${labelOf(name)} needs publishable.`]])),
    }
  }
  return {
    ...(Array.isArray(scopes) &&
      String(scopes) !== 'leads:create' && {
        scopes: ['A publishable token has the scope leads:create alone.'],
      }),
    ...(Object.hasOwn(CaptureForm.properties, String(fields['honeypot'])) && {
      honeypot: ['The honeypot must be another field than those of a lead.'],
    }),
    ...(fields['origins'] === undefined && { origins: ['The origins field is required.'] }),
  }
}

export const createToken = operation({
  route: 'POST /manage/tokens',
  summary: 'Create a token',
  description:
    'A token can do no more than the one it is made with: it has none but its scopes, it expires no later, and what a test token makes is a test token.',
  body: CreateToken,
  savesResponse: true,
  answer: dataOf(CreatedToken, 'The new token.'),
  handler: async (call) => {
    const { accountId, clients, limits } = call
    const { principal } = call.request
    const { now } = call.dependencies
    const { value, errors = {}, fields } = call.check()
    const asked: Partial<Record<string, unknown>> = fields ?? value
    const given = {
      ...asked,
      scopes: asked['scopes'] ?? (asked['publishable'] ? [...PUBLISHABLE] : undefined),
    }
    const isPast = (instantMs(asked['expires_at']) ?? Number.POSITIVE_INFINITY) <= now()
    const past = isPast ? { expires_at: ['The expires at must be a date in the future.'] } : {}
    const unknown = await endpointErrors(call, given)
    const others = [excessErrors(given, principal), publishableErrors(given), unknown]
    const allErrors = others.reduce(addErrors, errors)
    // Alone it is refused behind the key, whose saved response comes also later.
    if (!value || Object.keys(allErrors).length > 0) throw ServiceError.invalid(addErrors(allErrors, past))
    const { token, secret } = await clients.accounts.createToken(
      {
        accountId,
        name: value.name,
        scopes: SCOPES.filter((scope) => (value.scopes ?? PUBLISHABLE).includes(scope)),
        test: value.test ?? principal.test,
        endpointId: value.endpoint_id,
        expiresAt: value.expires_at && inMicroseconds(value.expires_at),
        origins: [...new Set(value.origins)],
        returnUrl: value.return_url,
        honeypot: value.honeypot,
      },
      limits,
    )
    return { ...tokenRecord(token!, Date.parse(token!.createdAt)), token: secret }
  },
})
