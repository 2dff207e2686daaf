import type { Actor, CreateTokenRequest, CreateTokenResponse } from '@leadwire/contracts'
import {
  type Database,
  differences,
  isInvalidTime,
  type OpenTransaction,
  recordAudit,
  ServiceError,
  violatedConstraint,
} from '@leadwire/service-kit'
import { errorsOf, isId, isText, nameErrors, refuse } from '../arguments'
import { hashToken, newToken } from './credentials'
import { TOKEN } from './token-row'

const INSERT = `
  INSERT INTO tokens (account_id, name, hash, scopes, test, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
  RETURNING ${TOKEN.columns}`

export const insertToken = async (
  tx: OpenTransaction,
  request: CreateTokenRequest,
  actor: Actor | undefined,
): Promise<CreateTokenResponse> => {
  const { accountId, name, scopes, test, expiresAt } = request
  const secret = newToken(test)
  const values = [accountId, name, hashToken(secret), [...new Set(scopes)], test, expiresAt ?? null]
  const [token] = await TOKEN.query(tx, { text: INSERT, values })
  const made = { name, scopes: token!.scopes, test, expires_at: token!.expiresAt }
  const changes = differences({}, made)
  recordAudit(tx, actor, { accountId, action: 'token.created', targetId: token!.id, changes })
  return { token, secret }
}

/** Makes a token. Only this response has its secret: the stored hash can't be turned back into it. */
export const createToken =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async (request: CreateTokenRequest): Promise<CreateTokenResponse> => {
    const { accountId, name, scopes, expiresAt } = request
    const fieldErrors = {
      ...errorsOf({
        account_id: isId(accountId),
        scopes: scopes.every((scope) => isText(scope)),
        expires_at: expiresAt === undefined || !Number.isNaN(Date.parse(expiresAt)),
      }),
      ...nameErrors(name),
    }
    if (expiresAt && Date.parse(expiresAt) <= Date.now())
      fieldErrors['expires_at'] = ['The expires at must be a date in the future.']
    refuse(fieldErrors)
    try {
      return await deps.database.transaction((tx) => insertToken(tx, request, deps.actor))
    } catch (error) {
      if (isInvalidTime(error))
        throw ServiceError.invalid({ expires_at: ['The expires at is not a valid date.'] })
      switch (violatedConstraint(error)) {
        case 'tokens_scopes_check':
          throw ServiceError.invalid({ scopes: ['The selected scopes are invalid.'] })
        case 'tokens_account_id_fkey':
          throw new ServiceError('not_found', 'There is no such account.')
        default:
          throw error
      }
    }
  }
