import { createHash, randomBytes } from 'node:crypto'
import {
  type Actor,
  type CreateTokenRequest,
  PORTAL_LINK,
  SIGN_IN_LINK,
  Token,
  VerifiedToken,
  type VerifyTokensRequest,
} from '@leadwire/contracts'
import {
  type OpenTransaction,
  type Pruned,
  type RunInTurn,
  ServiceError,
  statement,
  type Transaction,
} from '@leadwire/service-kit'
import { managedRecords, throwFailure } from '../database/managed-records'
import type { Operation } from '../operation'
import { requireRoom } from '../quotas/require-room'
import { type Creator, lockCreator } from './lock-creator'

export const TOKENS = managedRecords(Token, 'tokens', 'token')

export const newSecret = (kind: 'live' | 'test' | 'pub' | 'cal' | 'key' | 'link' | 'sso' | 'session') => {
  const secret = `lw_${kind}_${randomBytes(32).toString('base64url')}`
  // A fast hash is enough, because 256 random bits cannot be guessed.
  return { secret, hash: createHash('sha256').update(secret).digest() }
}

export const insertToken = async (
  tx: OpenTransaction,
  { accountId, name, scopes, test, expiresAt, endpointId, origins, returnUrl, honeypot }: CreateTokenRequest,
  actor: Actor | undefined,
  creator?: Creator,
) => {
  const isPublishable = origins.length > 0
  const liveKind = test ? 'test' : 'live'
  const { secret, hash } = newSecret(isPublishable ? 'pub' : liveKind)
  const row = {
    account_id: accountId,
    name,
    hash,
    scopes: [...new Set(scopes)],
    test,
    expires_at: expiresAt,
    endpoint_id: endpointId,
    origins,
    return_url: returnUrl,
    honeypot,
    created_by_token_id: creator?.id,
    created_by_token_name: creator?.name,
    created_by_user_id: creator?.userId,
  }
  const logged = ['name', 'scopes', 'test', 'expiresAt', 'endpointId'] as const
  const published = isPublishable ? (['origins', 'returnUrl', 'honeypot'] as const) : []
  return { token: await TOKENS.insert(tx, actor, row, [...logged, ...published]), secret }
}

const hasPassed = statement<{ passed: boolean }>('has-passed')`
  SELECT $1::timestamptz <= clock_timestamp() AS passed`

/** Throws `invalid` unless the time is in the future by PostgreSQL's clock. */
const requireFuture = async (database: Transaction, expiresAt: string): Promise<void> => {
  const [row] = await hasPassed(database, expiresAt)
  if (row!.passed)
    throw ServiceError.invalid({ expires_at: ['The expires at must be a date in the future.'] })
}

/** Creates a token. Only this response has the token's secret, because only a hash is stored. */
export const createToken: Operation<'createToken'> = async (dependencies, request) => {
  const { database, actor, quotas } = dependencies
  const { accountId, expiresAt } = request
  if (expiresAt !== undefined) await requireFuture(database, expiresAt)
  return database
    .transaction(async (tx) => {
      await requireRoom(tx, accountId, 'tokens', quotas)
      const creator = await lockCreator(tx, actor, accountId)
      return insertToken(tx, request, actor, creator)
    })
    .catch(throwFailure)
}

const hasOrigin = statement<{ found: boolean }>('find-origin')`
  SELECT EXISTS (
    SELECT FROM tokens
    WHERE origins @> ARRAY[$1::text] AND origins <> '{}' AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > clock_timestamp())
  ) AS found`

export const findOrigin: Operation<'findOrigin'> = async ({ database }, { origin }) => {
  const [row] = await hasOrigin(database, origin)
  return { found: row!.found }
}

/** Lists the tokens of an account, including revoked tokens, without sessions and sign-in links. */
export const listTokens: Operation<'listTokens'> = async ({ database }, request) => {
  const { records, nextAfter } = await TOKENS.listPage(database, 'user_id IS NULL', request)
  return { tokens: records, nextAfter }
}

/**
 * Opens a portal link: turns its token into the token of a session, with a new secret and an expiry in eight
 * hours. Throws `not_found` if there is no such token, and `conflict` if the link was already opened or
 * revoked.
 */
export const openPortalLink: Operation<'openPortalLink'> = async (deps, request) => {
  const { secret, hash } = newSecret('live')
  const token = await TOKENS.change(deps, request, {
    action: 'token.opened',
    logged: ['scopes', 'expiresAt'],
    set: "hash = $3, scopes = '{webhooks}', expires_at = clock_timestamp() + interval '8 hours'",
    values: [hash],
    check: ({ scopes, revokedAt }) => {
      if (!scopes.includes(PORTAL_LINK) || revokedAt !== undefined)
        throw new ServiceError('conflict', 'The link was already opened or revoked. Create a new link.')
    },
  })
  return { token, secret }
}

const AT_ONCE = 1000

const deleteExpired = (restriction: string) => `
  DELETE FROM tokens WHERE id IN (
    SELECT id FROM tokens t WHERE ${restriction} AND expires_at < now() - interval '1 day'
      AND NOT EXISTS (SELECT FROM idempotency_keys k WHERE k.token_id = t.id)
    ORDER BY expires_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
  RETURNING id`

/**
 * Deletes tokens that expired at least a day ago and that are created in large numbers: sessions and sign-in
 * links, and the tokens of the portal, which are restricted to an endpoint. A token stays as long as a saved
 * response refers to it.
 */
export const deleteExpiredTokens = async (db: Transaction): Promise<Pruned> => {
  const ofUsers = await db.query({ text: deleteExpired('user_id IS NOT NULL') })
  const ofEndpoints = await db.query({ text: deleteExpired('endpoint_id IS NOT NULL') })
  const most = Math.max(ofUsers.length, ofEndpoints.length)
  return { rows: ofUsers.length + ofEndpoints.length, more: most === AT_ONCE }
}

/** SQL: whether the session `t` was used within 12 hours. A sign-in link is never idle. */
export const IS_NOT_IDLE = `(t.scopes = ARRAY['${SIGN_IN_LINK}'] OR t.last_used_at > clock_timestamp() - interval '12 hours')`

// Writes last_used_at at most every ten seconds, and skips a row that another verification is writing.
const verify = statement<VerifiedToken & { hash: Buffer }>('verify-tokens')`
  WITH found AS (
    SELECT t.*, a.suspended_at IS NOT NULL AS suspended FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ANY ($1::bytea[]) AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
      AND (t.user_id IS NULL OR ${IS_NOT_IDLE})
  ), used AS (
    UPDATE tokens SET last_used_at = clock_timestamp()
    WHERE id IN (
      SELECT t.id FROM tokens t JOIN found USING (id)
      WHERE t.last_used_at IS NULL OR t.last_used_at < clock_timestamp() - interval '10 seconds'
      FOR NO KEY UPDATE OF t SKIP LOCKED
    )
  )
  SELECT hash, name, id AS "tokenId", account_id AS "accountId", scopes, test, suspended, endpoint_id AS "endpointId",
    user_id AS "userId", origins, return_url AS "returnUrl", honeypot, CASE WHEN origins <> '{}' THEN stamp_key END AS "stampKey",
    floor(extract(epoch FROM expires_at) * 1000)::float8 AS "expiresAtMs", expires_at AS "expiresAt",
    floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "verifiedAtMs"
  FROM found`

/** Verifies tokens by their hashes. The result of an unknown, revoked, expired or idle token is empty. */
export const verifyTokens =
  ({ database }: { database: Transaction }, runInTurn: RunInTurn) =>
  async ({ hashes }: VerifyTokensRequest) => {
    // The accounts are not known yet, so batches wait in the order of their arrival.
    const rows = await runInTurn(0, () => verify(database, hashes))
    const tokens = new Map<string, VerifiedToken>()
    for (const row of rows) {
      // fromPartial turns NULL into undefined.
      tokens.set(row.hash.toString('hex'), VerifiedToken.fromPartial(row))
    }
    return { results: hashes.map((hash) => ({ token: tokens.get(Buffer.from(hash).toString('hex')) })) }
  }
