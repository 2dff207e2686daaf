import type { RevokeTokenRequest, RevokeTokenResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { demand, isId } from '../arguments'
import { TOKEN } from './account-rows'

const REVOKE = `
  UPDATE tokens SET revoked_at = coalesce(revoked_at, clock_timestamp())
  WHERE account_id = $1 AND id = $2
  RETURNING ${TOKEN.columns}`

/** Revokes a token for good. Gateways know within half a second, the age their cache may have. */
export const revokeToken =
  (deps: { database: Database }) =>
  async ({ accountId, tokenId }: RevokeTokenRequest): Promise<RevokeTokenResponse> => {
    demand({ account_id: isId(accountId), token_id: isId(tokenId) })
    const [token] = await TOKEN.query(deps.database, { text: REVOKE, values: [accountId, tokenId] })
    if (!token) throw new ServiceError('not_found', 'There is no such token.')
    return { token }
  }
