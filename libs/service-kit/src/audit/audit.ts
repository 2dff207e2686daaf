import { type Actor, AuditEntry, type AuditServiceImplementation } from '@leadwire/contracts'
import type { Database, OpenTransaction } from '../database/database'
import { isRefusedValue } from '../database/failure'
import { statement } from '../database/statement'
import { ServiceError } from '../errors/service-error'

// The audit log of a service, in the service's database. Each entry records one change, and the token or
// the user that made it.

/**
 * The ids of entries are unique across services, so that the logs of all services can be merged in one order.
 */
export const AUDIT_TABLE = `
  CREATE TABLE audit (
    account_id bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    action text NOT NULL,
    target_type text NOT NULL,
    target_id bigint NOT NULL,
    token_id bigint,
    token_name text,
    request_id text,
    changes json NOT NULL CHECK (json_typeof(changes) = 'object'),
    PRIMARY KEY (account_id, created_at, id)
  );`

export type Changes = Record<string, { from: unknown; to: unknown }>

export const differences = (before: Record<string, unknown>, after: Record<string, unknown>): Changes =>
  Object.fromEntries(
    Object.keys({ ...before, ...after })
      .map((field) => [field, { from: before[field] ?? null, to: after[field] ?? null }] as const)
      .filter(([, { from, to }]) => JSON.stringify(from) !== JSON.stringify(to)),
  )

// The table name includes its schema, because connections with another default schema write to the same log.
const insert = statement('record-audit')`
  INSERT INTO public.audit
    (account_id, action, target_type, target_id, token_id, token_name, user_id, request_id, changes)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

/**
 * Records a change in the transaction that makes it. `changes` must never contain a secret or the text of a
 * token.
 */
export const recordAudit = (
  tx: OpenTransaction,
  actor: Actor | undefined,
  entry: {
    accountId: number
    /** The kind of record and the change, such as `webhook_endpoint.updated`. */
    action: `${string}.${string}`
    targetId: number
    changes?: Changes
  },
): void => {
  const { accountId, action, targetId, changes = {} } = entry
  const [targetType] = action.split('.')
  // The name of a user is looked up when the log is read.
  const tokenName = actor?.userId === undefined ? (actor?.tokenName ?? null) : null
  const by = [actor?.tokenId ?? null, tokenName, actor?.userId ?? null, actor?.requestId ?? null]
  insert.send(tx, accountId, action, targetType, targetId, ...by, JSON.stringify(changes))
}

/**
 * The number of entries on a page. The service sends one more entry, which shows that another page follows.
 */
export const AUDIT_LIMIT = 100

// `setting` makes PostgreSQL read only one page, in the order of the primary key. Without the setting,
// PostgreSQL expects every account to have the average number of entries, and sorts all entries of the
// account. For this reason it sorted 100,000 entries of one account, while the other accounts had 67 on
// average.
export const SELECT_AUDIT = {
  setting: 'SET LOCAL enable_sort = off',
  select: `
  SELECT id, created_at AS at, action, target_type AS "targetType", target_id AS "targetId", token_id AS "tokenId",
    token_name AS "tokenName", user_id AS "userId", request_id AS "requestId", changes
  FROM public.audit
  WHERE account_id = $1 AND (created_at, id) < ($2, $3)
  ORDER BY created_at DESC, id DESC LIMIT ${AUDIT_LIMIT + 1}`,
}

const INVALID_CURSOR = 'The cursor is invalid. Send the next_cursor of a response unchanged.'

const NEWEST = { at: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }

export const auditService = ({ database }: { database: Database }): AuditServiceImplementation => ({
  listAudit: async ({ accountId, before = NEWEST }, { signal }) => {
    try {
      const values = [accountId, before.at, before.id]
      const rows = await database.until(signal).transaction((tx) => {
        tx.send({ text: SELECT_AUDIT.setting })
        return tx.query<object>({ name: 'list-audit', text: SELECT_AUDIT.select, values })
      })
      return { entries: rows.map((row) => AuditEntry.fromPartial(row)) }
    } catch (error) {
      throw isRefusedValue(error) ? ServiceError.invalid({ cursor: [INVALID_CURSOR] }) : error
    }
  },
})
