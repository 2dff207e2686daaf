import type { AuditEntry, AuditPosition } from '@leadwire/contracts'
import { describe, splitPlace } from '@leadwire/requests'
import { AUDIT_LIMIT } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { findUserNames, type UserNames } from '../api/find-user-names'
import { listOperation } from '../api/list-operation'
import { Actor, described, named, orNull, requestIdOfChange, TokenName, timestamp } from '../api/schemas'

const Change = named('AuditChange', {
  from: Type.Unknown({ description: 'The previous value. null if the field was empty.', examples: [true] }),
  to: Type.Unknown({ description: 'The new value. null if the field was removed.', examples: [false] }),
})

const Target = named('AuditTarget', {
  type: Type.String({ examples: ['webhook_endpoint'] }),
  id: Type.Integer({ examples: [1] }),
})

const AuditRecord = described('AuditEntry', 'One action in the audit log of the account.', {
  id: Type.String({ format: 'uuid', examples: ['9a3c6d1e-5b7f-4c02-8d49-2e6f0a1b3c5d'] }),
  at: timestamp('When the action took place.'),
  action: Type.String(describe('The type of the target, a dot, and the action.', 'webhook_endpoint.updated')),
  target: Target,
  actor: orNull(
    Actor,
    'The user or the token that took the action. null if an operator used the command line, or if the service acted automatically.',
  ),
  token: orNull(
    TokenName,
    'The token that was used. null if a user took the action, if an operator used the command line, or if the service acted automatically.',
  ),
  request_id: requestIdOfChange,
  changes: Type.Record(Type.String(), Change, {
    description:
      'Changed fields by name. Secrets are never included. For the name and the email address of a user, and for the fields of a saved view, `from` and `to` are always null.',
    examples: [{ enabled: { from: true, to: false } }],
  }),
})

/** Returns the user or the token that took the action. A token beside a user is the user's session. */
const findActor = ({ userId, tokenId, tokenName }: AuditEntry, userNames: UserNames) => {
  if (userId !== undefined) return { type: 'user', id: userId, name: userNames[userId] ?? '' }
  return tokenId === undefined ? null : { type: 'token', id: tokenId, name: tokenName }
}

const PERSONAL = ['name', 'email']

/** Hides the names and e-mail addresses of users, which earlier releases stored in the audit log. */
const renderChanges = ({ targetType, changes }: AuditEntry): string => {
  if (targetType !== 'user') return changes
  const parsed: Record<string, object> = JSON.parse(changes)
  for (const field of PERSONAL) if (field in parsed) parsed[field] = { from: null, to: null }
  return JSON.stringify(parsed)
}

const renderEntry = (entry: AuditEntry, userNames: UserNames): string => {
  const { id, at, action } = entry
  const target = { type: entry.targetType, id: entry.targetId }
  const actor = findActor(entry, userNames)
  const token = actor?.type === 'token' ? { id: actor.id, name: actor.name } : null
  const json = JSON.stringify({ id, at, action, target, actor, token, request_id: entry.requestId ?? null })
  return `${json.slice(0, -1)},"changes":${renderChanges(entry)}}`
}

const parsePosition = (place: string): AuditPosition => {
  const [at, id] = splitPlace(place, /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.]\d{6}Z)_([\da-f-]{36})$/)
  return { at: at!, id: id! }
}

// Compares times and ids as strings. All times have the same length, and all ids have the same length, so the
// order is the same as in PostgreSQL.
const isOlder = (a: AuditEntry, b: AuditEntry) => (a.at === b.at ? a.id < b.id : a.at < b.at)

/** Lists the audit log of an account. Merges the audit logs of all services. */
export const listAudit = listOperation({
  route: 'GET /manage/audit',
  summary: 'List audit entries',
  description:
    'Returns the audit log: imports, manual delivery attempts, erasures, exports of leads, and changes to the account, users, saved views, tokens, images and webhook endpoints. Actions on the command line are included. Changes to a lead are in the history of the lead instead. Newest first, up to 100 per response. Pass `next_cursor` as `cursor` to get the next entries.',
  record: AuditRecord,
  cursor: 'The `next_cursor` of the previous response. Omit it for the newest entries.',
  find: async ({ accountId, clients, limits }, _filters, place) => {
    const asked = { accountId, before: place === undefined ? undefined : parsePosition(place) }
    const logs = await Promise.all(clients.audits.map((audit) => audit.listAudit(asked, limits)))
    const entries = logs.flatMap((log) => log.entries).sort((a, b) => (isOlder(a, b) ? 1 : -1))
    const shown = entries.slice(0, AUDIT_LIMIT)
    const last = entries.length > AUDIT_LIMIT ? shown.at(-1) : undefined
    const userIds = shown.map(({ userId }) => userId)
    const names = await findUserNames({ accountId, clients, limits }, userIds)
    const items = `[${shown.map((entry) => renderEntry(entry, names)).join()}]`
    return { items, nextBefore: last && `${last.at}_${last.id}` }
  },
})
