import { type OpenTransaction, ServiceError, statement } from '@leadwire/service-kit'

/** The maximum numbers of tokens, users and images that an account may have. */
export interface Quotas {
  /** Expired and revoked tokens do not count, nor do sessions and sign-in links. */
  tokens: number
  /** Removed users do not count. */
  users: number
  images: number
}

/** The first key of the advisory locks on quotas. No other advisory lock of the database has two keys. */
const QUOTA_LOCKS = 1_364_546_369

/**
 * Locks the quotas of an account until the transaction ends. A change of a user's role takes this lock,
 * too.
 */
export const lockQuotas = statement('lock-quotas')`
  SELECT pg_advisory_xact_lock(${QUOTA_LOCKS}, ($1::bigint % 2147483647)::int)`

// Each statement stops counting at the quota, which is $2. `countTokens` has the same expression as the
// index tokens_valid_of_account, so that PostgreSQL can use the index.
const countTokens = statement<{ count: number }>('count-valid-tokens')`
  SELECT count(*)::int AS count FROM (
    SELECT FROM tokens
    WHERE account_id = $1 AND revoked_at IS NULL AND coalesce(expires_at, 'infinity') > statement_timestamp()
      AND user_id IS NULL
    LIMIT $2
  ) AS counted`

const countUsers = statement<{ count: number }>('count-users')`
  SELECT count(*)::int AS count FROM (
    SELECT FROM users WHERE account_id = $1 AND removed_at IS NULL LIMIT $2
  ) AS counted`

const countImages = statement<{ count: number }>('count-images')`
  SELECT count(*)::int AS count FROM (
    SELECT FROM images WHERE account_id = $1 LIMIT $2
  ) AS counted`

const KINDS = {
  tokens: { count: countTokens, called: 'valid tokens', remedy: 'Revoke unused tokens' },
  users: {
    count: countUsers,
    called: 'users',
    remedy: 'Remove users who are no longer assigned to leads',
  },
  images: { count: countImages, called: 'images', remedy: 'Refer to an existing image by its id' },
}

/**
 * Throws `invalid` if the account has reached its quota for a kind of records. Locks the account's quotas
 * until the transaction ends, so that concurrent creates cannot exceed a quota together.
 */
export const requireRoom = async (
  tx: OpenTransaction,
  accountId: number,
  kind: keyof Quotas,
  quotas: Quotas,
): Promise<void> => {
  const { count, called, remedy } = KINDS[kind]
  const most = quotas[kind]
  lockQuotas.send(tx, accountId)
  const [row] = await count(tx, accountId, most)
  if (row!.count < most) return
  const limit = `An account may not have more than ${most.toLocaleString('en-GB')} ${called}`
  throw ServiceError.invalid({ [kind]: [`${limit}. ${remedy}, or ask the operator for a higher limit.`] })
}
