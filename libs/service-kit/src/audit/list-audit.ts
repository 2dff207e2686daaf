import { AuditEntry, type AuditServiceImplementation, type ListAuditRequest } from '@leadwire/contracts'
import type { Database } from '../database/database'
import { isRefusedValue } from '../database/failure'
import { ServiceError } from '../errors/service-error'
import { perCall } from '../grpc/per-call'

/** How many entries a page shows. One more is sent. */
export const AUDIT_LIMIT = 100

/**
 * Two statements of a transaction. Without the first PostgreSQL plans for an account with few entries, and sorts all of an
 * account's (seen with 100,000 of one account, and 67 of others on average).
 */
export const SELECT_AUDIT = {
  setting: 'SET LOCAL enable_sort = off',
  select: `
  SELECT id, created_at AS at, action, target_type AS "targetType", target_id AS "targetId", token_id AS "tokenId",
    token_name AS "tokenName", request_id AS "requestId", changes
  FROM public.audit
  WHERE account_id = $1 AND (created_at, id) < ($2, $3)
  ORDER BY created_at DESC, id DESC LIMIT ${AUDIT_LIMIT + 1}`,
}

const NEWEST = { at: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }

const listAudit =
  ({ database }: { database: Database }) =>
  async ({ accountId, before = NEWEST }: ListAuditRequest) => {
    try {
      const values = [accountId, before.at, before.id]
      const rows = await database.transaction((tx) => {
        tx.send({ text: SELECT_AUDIT.setting })
        return tx.query<object>({ name: 'list-audit', text: SELECT_AUDIT.select, values })
      })
      return { entries: rows.map((row) => AuditEntry.fromPartial(row)) }
    } catch (error) {
      throw isRefusedValue(error) ? ServiceError.invalid({ cursor: ['The cursor is invalid.'] }) : error
    }
  }

/** The gRPC service of a service's audit log. */
export const auditService = (deps: { database: Database }): AuditServiceImplementation => ({
  listAudit: perCall(deps, listAudit),
})
