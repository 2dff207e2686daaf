import { types } from 'node:util'
import { ServiceError } from '@leadwire/service-kit'
import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'

/**
 * The reason of a failed sign-in with the identity provider. The console shows a text for each reason.
 *
 * - `denied`: the provider, or the person, refused.
 * - `unverified`: the provider has not verified the e-mail address.
 * - `unknown`: no account has a user with this e-mail address who may sign in.
 * - `unavailable`: the provider or leads-service does not respond.
 * - `failed`: the response of the provider is not valid.
 */
export type FailureReason = 'denied' | 'unverified' | 'unknown' | 'unavailable' | 'failed'

export class SignInFailure extends Error {
  override readonly name = 'SignInFailure'
  constructor(
    readonly reason: FailureReason,
    message: string,
  ) {
    super(message)
  }
}

export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable'
}

/** Returns an error and its causes. */
const listCauses = (error: unknown): Error[] =>
  types.isNativeError(error) ? [error, ...listCauses(error.cause)] : []

const BUSY = ['server_error', 'temporarily_unavailable']

const findReason = (error: unknown): FailureReason => {
  if (error instanceof SignInFailure) return error.reason
  if (error instanceof ServiceError)
    return error.code === 'unavailable' || error.code === 'late' ? 'unavailable' : 'failed'
  if (error instanceof AuthorizationResponseError)
    return BUSY.includes(error.error) ? 'unavailable' : 'denied'
  const isUnavailable = listCauses(error).some((cause) => cause instanceof ProviderUnavailable)
  return isUnavailable ? 'unavailable' : 'failed'
}

/** Returns an error code of OAuth 2.0. Anything else comes from a stranger and is not logged. */
const readOauthError = (error: unknown): string | undefined => {
  const isAnswer = error instanceof AuthorizationResponseError || error instanceof ResponseBodyError
  return isAnswer && /^[a-z_]{1,64}$/.test(error.error) ? error.error : undefined
}

/** Returns the messages that are fixed texts. Other messages may contain a part of a token. */
const readMessages = (error: Error): string[] => {
  const { code = '' } = error as { code?: unknown }
  if (error instanceof ServiceError) return [error.detail, ...Object.values(error.fieldErrors).flat()]
  const isFixed = error instanceof SignInFailure || error instanceof ProviderUnavailable
  return isFixed || String(code).startsWith('OAUTH_') ? [error.message] : []
}

/** Returns the reason of a failure, and what the log may show: no code, no token, no claim of the person. */
export const describeFailure = (error: unknown) => {
  const causes = listCauses(error)
  return {
    reason: findReason(error),
    errors: causes.map(({ name }) => name),
    code: causes.map((cause) => (cause as { code?: unknown }).code).findLast((code) => code !== undefined),
    details: [...new Set(causes.flatMap(readMessages))],
    provider_error: readOauthError(error),
  }
}
