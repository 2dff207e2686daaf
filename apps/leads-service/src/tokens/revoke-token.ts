import type { Actor, RevokeTokenRequest, RevokeTokenResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit, ServiceError } from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import { TOKEN } from './token-row'

const REVOKE = `
  UPDATE tokens SET revoked_at = clock_timestamp()
  WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
  RETURNING ${TOKEN.columns}`

const SELECT = `SELECT ${TOKEN.columns} FROM tokens WHERE account_id = $1 AND id = $2`

/** Revokes a token for good. Gateways know within half a second, the age their cache may have. */
export const revokeToken =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async ({ accountId, tokenId }: RevokeTokenRequest): Promise<RevokeTokenResponse> => {
    validate({ account_id: isId(accountId), token_id: isId(tokenId) })
    const values = [accountId, tokenId]
    return deps.database.transaction(async (tx) => {
      const [revoked] = await TOKEN.query(tx, { text: REVOKE, values })
      if (revoked) {
        const changes = differences({}, { revoked_at: revoked.revokedAt })
        recordAudit(tx, deps.actor, { accountId, action: 'token.revoked', targetId: tokenId, changes })
      }
      const [token] = revoked ? [revoked] : await TOKEN.query(tx, { text: SELECT, values })
      if (!token) throw new ServiceError('not_found', 'There is no such token.')
      return { token }
    })
  }
