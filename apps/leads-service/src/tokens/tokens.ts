import { createHash, randomBytes } from 'node:crypto'
import {
  type Actor,
  type CreateTokenRequest,
  isOneLine,
  PORTAL_LINK,
  SCOPES,
  Token,
  VerifiedToken,
  type VerifyTokensRequest,
} from '@leadwire/contracts'
import {
  isInvalidTime,
  type OpenTransaction,
  type Pruned,
  ServiceError,
  statement,
  type Transaction,
} from '@leadwire/service-kit'
import { errorsOf, isId, isOptional, isText, nameErrors, refuse, validate } from '../arguments'
import { managedRecords, throwFailure } from '../database/managed-records'
import type { Operation } from '../operation'

/**
 * A token of one endpoint has the scope `webhooks`, and is stored with none: a release that does not know of the endpoint must
 * not let it see the others.
 */
const shownToken = <Shown extends { scopes: string[] }>(token: Shown): Shown =>
  token.scopes.length > 0 ? token : { ...token, scopes: ['webhooks'] }

const TOKENS = managedRecords(
  { fromPartial: (fields: object) => shownToken(Token.fromPartial(fields)) },
  'tokens',
  'token',
)

export const newSecret = (kind: 'live' | 'test' | 'pub' | 'cal' | 'key') => {
  const secret = `lw_${kind}_${randomBytes(32).toString('base64url')}`
  // A fast hash is enough: there is nothing to guess in 256 random bits.
  return { secret, hash: createHash('sha256').update(secret).digest() }
}

export const insertToken = async (
  tx: OpenTransaction,
  { accountId, name, scopes, test, expiresAt, endpointId, origins, returnUrl, honeypot }: CreateTokenRequest,
  actor: Actor | undefined,
) => {
  const isPublishable = origins.length > 0
  const { secret, hash } = newSecret(isPublishable ? 'pub' : test ? 'test' : 'live')
  const stored = endpointId !== undefined && scopes.includes('webhooks') ? [] : [...new Set(scopes)]
  const row = {
    ...{ account_id: accountId, name, hash, scopes: stored, test },
    ...{ expires_at: expiresAt, endpoint_id: endpointId },
    ...{ origins, return_url: returnUrl, honeypot },
  }
  const logged = ['name', 'scopes', 'test', 'expiresAt', 'endpointId'] as const
  const published = isPublishable ? (['origins', 'returnUrl', 'honeypot'] as const) : []
  return { token: await TOKENS.insert(tx, actor, row, [...logged, ...published]), secret }
}

/** The command line comes here past the gateway's checks. A wildcard would match no page. */
const isOrigin = (text: string) =>
  /^https?:[^*]+$/.test(text) && isText(text) && URL.canParse(text) && new URL(text).origin === text

const isReturnUrl = (text: string) => {
  if (!/^https?:\/\//i.test(text) || !isOneLine(text) || !isText(text, 2048) || !URL.canParse(text))
    return false
  const { username, password } = new URL(text)
  return username + password === ''
}

/** Makes a token. Only this response has its secret: the stored hash can't be turned back into it. */
export const createToken: Operation<'createToken'> = async ({ database, actor }, request) => {
  const { accountId, name, scopes, expiresAt, endpointId, origins, returnUrl, honeypot } = request
  const known: readonly string[] = endpointId === undefined ? SCOPES : ['webhooks', PORTAL_LINK]
  const areKnown =
    scopes.length > 0 &&
    scopes.every((scope) => known.includes(scope)) &&
    (endpointId === undefined || scopes.length === 1)
  const expiry = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
  refuse({
    ...errorsOf({
      account_id: isId(accountId),
      expires_at: !Number.isNaN(expiry),
      endpoint_id: isOptional(endpointId, isId),
      origins: origins.every(isOrigin) && (origins.length === 0 || String(scopes) === 'leads:create'),
      return_url: isOptional(returnUrl, (url) => origins.length > 0 && isReturnUrl(url)),
      honeypot: isOptional(honeypot, (field) => origins.length > 0 && /^[a-z][\w-]{0,39}$/i.test(field)),
    }),
    ...nameErrors(name),
    ...(!areKnown && { scopes: ['The selected scopes are invalid.'] }),
    ...(expiry <= Date.now() && { expires_at: ['The expires at must be a date in the future.'] }),
  })
  return database
    .transaction((tx) => insertToken(tx, request, actor))
    .catch((error) => {
      if (!isInvalidTime(error)) return throwFailure(error)
      throw ServiceError.invalid({ expires_at: ['The expires at is not a valid date.'] })
    })
}

const hasOrigin = statement<{ found: boolean }>('find-origin')`
  SELECT EXISTS (
    SELECT FROM tokens
    WHERE origins @> ARRAY[$1::text] AND origins <> '{}' AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > clock_timestamp())
  ) AS found`

export const findOrigin: Operation<'findOrigin'> = async ({ database }, { origin }) => {
  const [row] = isText(origin) ? await hasOrigin(database, origin) : []
  return { found: row?.found ?? false }
}

/** Every token of an account, revoked ones too. */
export const listTokens: Operation<'listTokens'> = async ({ database }, { accountId }) => {
  validate({ account_id: isId(accountId) })
  return { tokens: await TOKENS.list(database, 'account_id = $1', [accountId]) }
}

/** Revokes a token for good. Gateways know within half a second, the age their cache may have. */
export const revokeToken: Operation<'revokeToken'> = TOKENS.changing({
  action: 'token.revoked',
  logged: ['revokedAt'],
  set: 'revoked_at = coalesce(revoked_at, clock_timestamp())',
})

/** Ends a link and starts its session, which is the same token with another secret. Throws not_found, and conflict but for the first. */
export const openPortalLink: Operation<'openPortalLink'> = async (deps, request) => {
  const { secret, hash } = newSecret('live')
  const token = await TOKENS.change(deps, request, {
    action: 'token.opened',
    logged: ['scopes', 'expiresAt'],
    set: "hash = $3, scopes = '{}', expires_at = clock_timestamp() + interval '8 hours'",
    values: [hash],
    check: ({ scopes, revokedAt }) => {
      if (!scopes.includes(PORTAL_LINK) || revokedAt !== undefined)
        throw new ServiceError('conflict', 'The link was opened before, or revoked.')
    },
  })
  return { token, secret }
}

const AT_ONCE = 1000

const DELETE_EXPIRED = `
  DELETE FROM tokens WHERE id IN (
    SELECT id FROM tokens WHERE endpoint_id IS NOT NULL AND expires_at < now() - interval '1 day'
    ORDER BY expires_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
  RETURNING id`

/** Deletes a batch of the tokens of one endpoint that expired a day ago: those of the portal are many. */
export const deleteExpiredTokens = async (db: Transaction): Promise<Pruned> => {
  const rows = await db.query({ text: DELETE_EXPIRED })
  return { rows: rows.length, more: rows.length === AT_ONCE }
}

// last_used_at is written every ten seconds at most. A row that another verification is writing is skipped.
const verify = statement<VerifiedToken & { hash: Buffer }>('verify-tokens')`
  WITH found AS (
    SELECT t.*, a.suspended_at IS NOT NULL AS suspended FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = ANY ($1::bytea[]) AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
  ), used AS (
    UPDATE tokens SET last_used_at = clock_timestamp()
    WHERE id IN (
      SELECT t.id FROM tokens t JOIN found USING (id)
      WHERE t.last_used_at IS NULL OR t.last_used_at < clock_timestamp() - interval '10 seconds'
      FOR NO KEY UPDATE OF t SKIP LOCKED
    )
  )
  SELECT hash, name, id AS "tokenId", account_id AS "accountId", scopes, test, suspended, endpoint_id AS "endpointId",
    origins, return_url AS "returnUrl", honeypot,
    floor(extract(epoch FROM expires_at) * 1000)::float8 AS "expiresAtMs", expires_at AS "expiresAt"
  FROM found`

/** Verifies many tokens at once, by hash: unknown, revoked and expired ones come back empty. */
export const verifyTokens =
  ({ database }: { database: Transaction }) =>
  async ({ hashes }: VerifyTokensRequest) => {
    const rows = await verify(database, hashes)
    // NULL is undefined in a message.
    const tokens = new Map(
      rows.map((row) => [row.hash.toString('hex'), shownToken(VerifiedToken.fromPartial(row))]),
    )
    return { results: hashes.map((hash) => ({ token: tokens.get(Buffer.from(hash).toString('hex')) })) }
  }
