import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'

const FIND = {
  name: 'token',
  text: `SELECT account_id FROM tokens
    WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
}

const FRESH_MS = 500

/**
 * Returns a hook that responds 401 to unknown tokens. The hook caches each token for 500 ms, as the gateway
 * does.
 */
export const createTokenCheck = (pool: pg.Pool) => {
  const cache = new Map<string, { accountId: Promise<number | undefined>; at: number }>()
  const find = async (hash: Buffer) =>
    (await pool.query<{ account_id: number }>({ ...FIND, values: [hash] })).rows[0]?.account_id

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const hash = createHash('sha256').update(token).digest()
    const key = hash.toString('base64')
    let known = cache.get(key)
    if (!known || Date.now() - known.at >= FRESH_MS) {
      known = { accountId: find(hash), at: Date.now() }
      cache.set(key, known)
    }
    const accountId = await known.accountId
    if (accountId === undefined) reply.code(401).send()
    else request.accountId = accountId
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    accountId: number
  }
}
