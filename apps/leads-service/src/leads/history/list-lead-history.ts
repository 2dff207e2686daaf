import type { ListLeadHistoryRequest, ListLeadHistoryResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, isUuid, validate } from '../../arguments'
import { leadNotFound } from '../read/lead-result'

const PER_ANSWER = 100

interface Row {
  version: number
  at: string
  token_id: number | null
  token_name: string | null
  request_id: string | null
  changes: string
  action: string
}

const FIND_LEAD = 'SELECT id FROM leads WHERE reference = $2 AND account_id = $1'

// The creation is version 1, in the lead's own row. One row more than the response has shows whether more follow.
const SELECT = `
  SELECT e.version, e.created_at AS at, e.token_id, t.name AS token_name, e.request_id, e.changes, e.action
  FROM (
    (SELECT version, created_at, token_id, request_id, changes, coalesce(action, 'updated') AS action FROM lead_changes
      WHERE account_id = $1 AND lead_id = $2 AND version < $3::bigint ORDER BY version DESC LIMIT ${PER_ANSWER + 1})
    UNION ALL
    SELECT 1, created_at, created_by_token_id, created_by_request_id, '[]', 'created' FROM leads
      WHERE account_id = $1 AND id = $2 AND $3::bigint > 1
  ) e
  LEFT JOIN tokens t ON t.id = e.token_id
  ORDER BY e.version DESC LIMIT ${PER_ANSWER + 1}`

const jsonOf = ({
  version,
  at,
  action,
  token_id: id,
  token_name: name,
  request_id,
  changes,
}: Row): string => {
  const entry = JSON.stringify({ version, at, action, token: id === null ? null : { id, name }, request_id })
  return `${entry.slice(0, -1)},"changes":${changes}}`
}

/** A lead's history, newest first. Throws not_found. */
export const listLeadHistory =
  (deps: { database: Database }) =>
  async ({ accountId, reference, before }: ListLeadHistoryRequest): Promise<ListLeadHistoryResponse> => {
    validate({ account_id: isId(accountId), before: before === undefined || isId(before) })
    if (!isUuid(reference)) throw leadNotFound()
    const rows = await deps.database.connection(async (db) => {
      const found = { name: 'find-lead', text: FIND_LEAD, values: [accountId, reference] }
      const [lead] = await db.query<{ id: number }>(found)
      if (!lead) throw leadNotFound()
      const values = [accountId, lead.id, before ?? Number.MAX_SAFE_INTEGER]
      return db.query<Row>({ name: 'list-lead-history', text: SELECT, values })
    })
    const shown = rows.slice(0, PER_ANSWER)
    return {
      items: Buffer.from(`[${shown.map(jsonOf).join(',')}]`),
      nextBefore: rows.length > PER_ANSWER ? shown.at(-1)!.version : undefined,
    }
  }
