import type { Operation } from '../../operation'
import { LIMIT, listRecords } from '../read/lead-records'

// The creation is version 1, and is read from the lead's own row.
const SELECT = `
  SELECT e.version AS id, e.created_at AS at, e.action, e.token_id, t.name AS token_name, e.request_id, e.changes
  FROM (
    (SELECT version, created_at, token_id, request_id, changes, coalesce(action, 'updated') AS action FROM lead_changes
      WHERE account_id = $1 AND lead_id = $2 AND version < $3::bigint ORDER BY version DESC LIMIT ${LIMIT + 1})
    UNION ALL
    SELECT 1, created_at, created_by_token_id, created_by_request_id, '[]', 'created' FROM leads
      WHERE account_id = $1 AND id = $2 AND $3::bigint > 1
  ) e
  LEFT JOIN tokens t ON t.id = e.token_id
  ORDER BY e.version DESC LIMIT ${LIMIT + 1}`

interface Row {
  id: number
  at: string
  action: string
  token_id: number | null
  token_name: string | null
  request_id: string | null
  changes: string
}

const renderEntry = ({
  id: version,
  at,
  action,
  token_id: id,
  token_name: name,
  request_id,
  changes,
}: Row) => {
  const entry = JSON.stringify({ version, at, action, token: id === null ? null : { id, name }, request_id })
  return `${entry.slice(0, -1)},"changes":${changes}}`
}

export const listLeadHistory: Operation<'listLeadHistory'> = listRecords('lead-history', SELECT, renderEntry)
