import type { Actor } from '@leadwire/contracts'
import { type OpenTransaction, recordAudit, statement, within } from '@leadwire/service-kit'
import type { Operation } from '../operation'
import { endCalendars } from './end-calendars'
import { TOKENS } from './tokens'

const listCreated = statement<{ id: number }>('list-created-tokens')`
  SELECT id FROM tokens WHERE account_id = $1 AND created_by_token_id = ANY ($2::bigint[])`

const lock = statement('lock-tokens')`
  SELECT FROM tokens WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`

const revokeAll = statement<{ id: number; revokedAt: string }>('revoke-created-tokens')`
  UPDATE tokens SET revoked_at = clock_timestamp() WHERE id = ANY ($1::bigint[]) AND revoked_at IS NULL
  RETURNING id, revoked_at AS "revokedAt"`

/** Returns the ids of the tokens that a token created, directly or through other tokens. */
const listDescendants = async (tx: OpenTransaction, accountId: number, tokenId: number) => {
  const found: number[] = []
  let creators = [tokenId]
  // Runs one statement for each generation, instead of one recursive statement. PostgreSQL would overestimate
  // the rows of a recursive statement, and therefore compile the statement (JIT), which takes five seconds.
  while (creators.length > 0) {
    const rows = await listCreated(tx, accountId, creators)
    creators = rows.map(({ id }) => id)
    found.push(...creators)
  }
  return found
}

/**
 * Locks the tokens that a token created, directly or through other tokens, and returns their ids. The caller
 * must have locked the token itself. A locked token cannot create tokens, so the list is complete when all
 * its tokens are locked.
 */
const lockCreated = async (tx: OpenTransaction, accountId: number, tokenId: number): Promise<number[]> => {
  const locked = new Set<number>()
  for (;;) {
    const ids = await listDescendants(tx, accountId, tokenId)
    if (ids.every((id) => locked.has(id))) return ids
    await lock(tx, ids)
    for (const id of ids) locked.add(id)
  }
}

const revokeCreated = async (
  tx: OpenTransaction,
  actor: Actor | undefined,
  accountId: number,
  tokenId: number,
): Promise<number[]> => {
  const tokenIds = await lockCreated(tx, accountId, tokenId)
  for (const { id, revokedAt } of await revokeAll(tx, tokenIds)) {
    const changes = { revoked_at: { from: null, to: revokedAt } }
    recordAudit(tx, actor, { accountId, action: 'token.revoked', targetId: id, changes })
  }
  return tokenIds
}

/**
 * Revokes a token permanently. Also revokes the calendars that the token created and that have an expiry.
 * Gateways may accept the token for another half second, because they cache tokens. With `cascade`, also
 * revokes all tokens that the token created, directly or through other tokens, and all calendars that any of
 * these tokens created, with or without an expiry. Throws `not_found` if there is no such token.
 */
export const revokeToken: Operation<'revokeToken'> = ({ database, actor }, request) =>
  database.transaction(async (tx) => {
    const { accountId, tokenId, cascade } = request
    const token = await TOKENS.change({ database: within(tx), actor }, request, {
      action: 'token.revoked',
      logged: ['revokedAt'],
      set: 'revoked_at = coalesce(revoked_at, clock_timestamp())',
    })
    const created = cascade ? await revokeCreated(tx, actor, accountId, tokenId) : []
    await endCalendars(tx, actor, { accountId, tokenIds: [tokenId, ...created], all: cascade })
    return { token }
  })
