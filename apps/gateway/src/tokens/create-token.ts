import { Temporal } from '@js-temporal/polyfill'
import { grants, SCOPES, type VerifiedToken } from '@leadwire/contracts'
import {
  addErrors,
  CreateToken,
  describeUnknown,
  isInstant,
  listTokenErrors,
  PUBLISHABLE_SCOPES,
  truncateInstant,
  type UncheckedFields,
} from '@leadwire/requests'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { isEndpoint } from '../api/has-endpoint'
import { operation } from '../api/operation'
import { named, recordResponse } from '../api/schemas'
import { findCreators, renderToken, TokenRecord } from './tokens'

const CreatedToken = named('CreatedToken', {
  ...TokenRecord.properties,
  token: Type.String({
    description: 'The token itself, shown only in this response.',
    examples: ['lw_live_…'],
  }),
})

// Returns undefined for a malformed instant, which the schema refuses.
const instantMs = (given: unknown): number | undefined =>
  typeof given === 'string' && isInstant(given) ? Temporal.Instant.from(given).epochMilliseconds : undefined

/**
 * Lists the fields by which a new token would exceed the token that creates it: a wider scope, a later
 * expiry, or live leads. Without this check, the holder of a test token, or of a token for a day, could
 * create a token that lacks this restriction.
 */
const listExcessErrors = (fields: UncheckedFields, principal: VerifiedToken): FieldErrors => {
  const {
    scopes = fields['publishable'] === true ? PUBLISHABLE_SCOPES : [],
    expires_at: given,
    test,
  } = fields
  const errors: FieldErrors = {}
  const wider = SCOPES.filter(
    (scope) => Array.isArray(scopes) && scopes.includes(scope) && !grants(principal.scopes, [scope]),
  )
  if (wider.length > 0)
    errors['scopes'] = [
      `The new token cannot have the scopes ${wider.join(', ')}, because this token lacks them.`,
    ]
  // A session expires, but its user may sign in again. The user's tokens may therefore live longer.
  const lastsUntilMs = principal.userId === undefined ? principal.expiresAtMs : undefined
  const latestMs = lastsUntilMs ?? Number.POSITIVE_INFINITY
  const expiresMs = typeof given === 'string' ? (instantMs(given) ?? latestMs) : Number.POSITIVE_INFINITY
  if (expiresMs > latestMs) {
    const latest = new Date(latestMs).toISOString()
    errors['expires_at'] = [
      `The expires at field is required and may not be after ${latest}, when this token expires.`,
    ]
  }
  if (principal.test && test === false) errors['test'] = ['A test token can create only test tokens.']
  return errors
}

export const createToken = operation({
  route: 'POST /manage/tokens',
  summary: 'Create a token',
  description:
    'Creates a token. A new token cannot exceed the token that creates it: no wider scopes and no later expiry. A test token creates only test tokens. A test token is not a sandbox: it marks the leads that it creates as test leads, but can read and change live data within its scopes. To try things out without live data, use a second account.',
  body: CreateToken,
  listErrors: listTokenErrors,
  savesResponse: true,
  answer: recordResponse(CreatedToken, 'The new token.'),
  handler: async (call) => {
    const { accountId, clients, limits } = call
    const { principal } = call.request
    const { value, errors = {}, fields } = call.check()
    const given: UncheckedFields = fields ?? value
    const allErrors = addErrors(errors, listExcessErrors(given, principal))
    const isPast = (instantMs(given['expires_at']) ?? Number.POSITIVE_INFINITY) <= principal.databaseNow()
    const past = isPast ? { expires_at: ['The expires at must be a date in the future.'] } : {}
    // Passes on a request whose only error is an expiry in the past. If the request is a repetition,
    // leads-service returns the saved response. Otherwise leads-service refuses the expiry.
    if (!value || Object.keys(allErrors).length > 0) throw ServiceError.invalid(addErrors(allErrors, past))
    const { endpoint_id: endpointId } = value
    if (endpointId !== undefined && !(await isEndpoint(call, endpointId)))
      throw ServiceError.invalid({ endpoint_id: [describeUnknown('endpoint_id')] })
    const { token, secret } = await clients.accounts.createToken(
      {
        accountId,
        name: value.name,
        scopes: SCOPES.filter((scope) => (value.scopes ?? PUBLISHABLE_SCOPES).includes(scope)),
        test: value.test ?? principal.test,
        endpointId,
        expiresAt: value.expires_at && truncateInstant(value.expires_at),
        origins: [...new Set(value.origins)],
        returnUrl: value.return_url,
        honeypot: value.honeypot,
      },
      limits,
    )
    const userNames = await findCreators(call, [token!])
    return { ...renderToken(token!, Date.parse(token!.createdAt), userNames), token: secret }
  },
})
