import type { Operation } from '../../operation'
import { LIMIT, listRecords } from '../read/lead-records'

// The creation is version 1, and is read from the lead's own row. user_emails has the present e-mail
// addresses of the users in the changes, by their ids.
const SELECT = `
  SELECT e.version AS id, e.created_at AS at, e.action, e.token_id, t.name AS token_name, e.user_id,
    u.name AS user_name, e.request_id, e.changes, (
      SELECT json_object_agg(c.id, c.email) FROM users c
      WHERE c.account_id = $1 AND c.removed_at IS NULL AND c.id IN (
        SELECT (change -> side ->> 'id')::bigint
        FROM json_array_elements(e.changes) change, unnest(ARRAY['from', 'to']) side
        WHERE change ->> 'field' = 'user')
    ) AS user_emails
  FROM (
    (SELECT version, created_at, token_id, user_id, request_id, changes, coalesce(action, 'updated') AS action
      FROM lead_changes
      WHERE account_id = $1 AND lead_id = $2 AND version < $3::bigint ORDER BY version DESC LIMIT ${LIMIT + 1})
    UNION ALL
    SELECT 1, created_at, created_by_token_id, created_by_user_id, created_by_request_id, '[]', 'created' FROM leads
      WHERE account_id = $1 AND id = $2 AND $3::bigint > 1
  ) e
  LEFT JOIN tokens t ON t.id = e.token_id
  LEFT JOIN users u ON u.account_id = $1 AND u.id = e.user_id
  ORDER BY e.version DESC LIMIT ${LIMIT + 1}`

interface Row {
  id: number
  at: string
  action: string
  token_id: number | null
  token_name: string | null
  user_id: number | null
  user_name: string | null
  request_id: string | null
  changes: string
  user_emails: string | null
}

/** The columns that identify the user or the token that made a change. */
export type ActorRow = Pick<Row, 'token_id' | 'token_name' | 'user_id' | 'user_name'>

/** Returns the user or the token that made a change. A token_id beside a user_id is the user's session. */
export const findActor = ({ token_id, token_name, user_id, user_name }: ActorRow) => {
  if (user_id !== null) return { type: 'user', id: user_id, name: user_name }
  return token_id === null ? null : { type: 'token', id: token_id, name: token_name }
}

/**
 * Shows the present e-mail address of each user in the changes. A removed user has none, even if an earlier
 * release stored the address.
 */
const renderChanges = ({ changes, user_emails }: Row): string => {
  if (!changes.includes('"user"')) return changes
  const emails: Record<string, string> = JSON.parse(user_emails ?? '{}')
  const show = (user: { id: number } | null) => user && { id: user.id, email: emails[user.id] ?? null }
  const parsed: { field: string; from: never; to: never }[] = JSON.parse(changes)
  const shown = parsed.map((change) =>
    change.field === 'user' ? { field: 'user', from: show(change.from), to: show(change.to) } : change,
  )
  return JSON.stringify(shown)
}

const renderEntry = (row: Row) => {
  const { id: version, at, action, request_id } = row
  const actor = findActor(row)
  const token = actor?.type === 'token' ? { id: actor.id, name: actor.name } : null
  const entry = JSON.stringify({ version, at, action, actor, token, request_id })
  return `${entry.slice(0, -1)},"changes":${renderChanges(row)}}`
}

export const listLeadHistory: Operation<'listLeadHistory'> = listRecords('lead-history', SELECT, renderEntry)
