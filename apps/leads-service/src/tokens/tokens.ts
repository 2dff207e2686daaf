import { createHash, randomBytes } from 'node:crypto'
import {
  type Actor,
  type CreateTokenRequest,
  type ListTokensRequest,
  type RevokeTokenRequest,
  Token,
} from '@leadwire/contracts'
import { isInvalidTime, type OpenTransaction, ServiceError, violatedConstraint } from '@leadwire/service-kit'
import { errorsOf, isId, isText, nameErrors, refuse, validate } from '../arguments'
import { type ManagementDeps, managedRecords } from '../database/managed-records'

const TOKENS = managedRecords(Token, 'tokens', 'token')

export const insertToken = async (
  tx: OpenTransaction,
  { accountId, name, scopes, test, expiresAt }: CreateTokenRequest,
  actor: Actor | undefined,
) => {
  const secret = `lw_${test ? 'test' : 'live'}_${randomBytes(32).toString('base64url')}`
  // A fast hash is enough: there is nothing to guess in 256 random bits.
  const hash = createHash('sha256').update(secret).digest()
  const row = { account_id: accountId, name, hash, scopes: [...new Set(scopes)], test, expires_at: expiresAt }
  return { token: await TOKENS.insert(tx, actor, row, ['name', 'scopes', 'test', 'expiresAt']), secret }
}

const creationFailure = (error: unknown): unknown => {
  if (isInvalidTime(error))
    return ServiceError.invalid({ expires_at: ['The expires at is not a valid date.'] })
  switch (violatedConstraint(error)) {
    case 'tokens_scopes_check':
      return ServiceError.invalid({ scopes: ['The selected scopes are invalid.'] })
    case 'tokens_account_id_fkey':
      return new ServiceError('not_found', 'There is no such account.')
    default:
      return error
  }
}

/** Makes a token. Only this response has its secret: the stored hash can't be turned back into it. */
export const createToken =
  ({ database, actor }: ManagementDeps) =>
  async (request: CreateTokenRequest) => {
    const { accountId, name, scopes, expiresAt } = request
    const expiry = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
    refuse({
      ...errorsOf({
        account_id: isId(accountId),
        scopes: scopes.every((scope) => isText(scope)),
        expires_at: !Number.isNaN(expiry),
      }),
      ...nameErrors(name),
      ...(expiry <= Date.now() && { expires_at: ['The expires at must be a date in the future.'] }),
    })
    try {
      return await database.transaction((tx) => insertToken(tx, request, actor))
    } catch (error) {
      throw creationFailure(error)
    }
  }

/** Every token of an account, revoked ones too. */
export const listTokens =
  ({ database }: ManagementDeps) =>
  async ({ accountId }: ListTokensRequest) => {
    validate({ account_id: isId(accountId) })
    return { tokens: await TOKENS.list(database, 'account_id = $1', [accountId]) }
  }

/** Revokes a token for good. Gateways know within half a second, the age their cache may have. */
export const revokeToken =
  (deps: ManagementDeps) =>
  async ({ accountId, tokenId }: RevokeTokenRequest) => ({
    token: await TOKENS.change(
      deps,
      { account_id: accountId, token_id: tokenId },
      {
        ...{ action: 'token.revoked', logged: ['revokedAt'] },
        set: 'revoked_at = coalesce(revoked_at, clock_timestamp())',
      },
    ),
  })
