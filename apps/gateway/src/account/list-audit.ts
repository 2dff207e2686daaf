import type { AuditEntry, AuditPosition } from '@leadwire/contracts'
import { AUDIT_LIMIT } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { listOperation } from '../api/list-operation'
import { described, named, orNull, requestIdOfChange, TokenName, timestamp } from '../api/schemas'
import { partsOf } from '../validation/cursor'
import { describe } from '../validation/fields'

const Change = named('AuditChange', {
  from: Type.Unknown({ description: 'What it was; null where it was not.', examples: [true] }),
  to: Type.Unknown({ description: 'What it became; null where it is no more.', examples: [false] }),
})

const Target = named('AuditTarget', {
  type: Type.String({ examples: ['webhook_endpoint'] }),
  id: Type.Integer({ examples: [1] }),
})

const AuditRecord = described('AuditEntry', 'One change of an account, and who made it.', {
  id: Type.String({ format: 'uuid', examples: ['9a3c6d1e-5b7f-4c02-8d49-2e6f0a1b3c5d'] }),
  at: timestamp('When it was done.'),
  action: Type.String(describe('The kind of record, and what was done to it.', 'webhook_endpoint.updated')),
  target: Target,
  token: orNull(TokenName, 'Whose token did it. Null: an operator.'),
  request_id: requestIdOfChange,
  changes: Type.Record(Type.String(), Change, {
    description: 'What became another one, by field. Secrets are never among it.',
    examples: [{ enabled: { from: true, to: false } }],
  }),
})

const auditJson = (entry: AuditEntry): string => {
  const { id, at, action, tokenId, tokenName } = entry
  const target = { type: entry.targetType, id: entry.targetId }
  const token = tokenId === undefined ? null : { id: tokenId, name: tokenName }
  const json = JSON.stringify({ id, at, action, target, token, request_id: entry.requestId ?? null })
  return `${json.slice(0, -1)},"changes":${entry.changes}}`
}

const positionOf = (place: string): AuditPosition => {
  const [at, id] = partsOf(place, /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.]\d{6}Z)_([\da-f-]{36})$/)
  return { at: at!, id: id! }
}

// All times have the same length, and all ids, so strings are ordered as PostgreSQL orders them.
const isOlder = (a: AuditEntry, b: AuditEntry) => (a.at === b.at ? a.id < b.id : a.at < b.at)

/** What was changed of an account: the entries of all services, merged. */
export const listAudit = listOperation({
  route: 'GET /manage/audit',
  summary: 'List what was changed',
  description:
    'Who changed users, tokens, images and webhook endpoints, and asked for attempts, by the API or the command line. Leads have a history of their own. Newest first, at most 100 in an answer. The `next_cursor` of an answer asks for those that follow.',
  record: AuditRecord,
  cursor: 'The `next_cursor` of the answer before. Without it the newest entries come.',
  find: async ({ accountId, clients, limits }, _filters, place) => {
    const asked = { accountId, before: place === undefined ? undefined : positionOf(place) }
    const logs = await Promise.all(clients.audits.map((audit) => audit.listAudit(asked, limits)))
    const entries = logs.flatMap((log) => log.entries).sort((a, b) => (isOlder(a, b) ? 1 : -1))
    const shown = entries.slice(0, AUDIT_LIMIT)
    const last = entries.length > AUDIT_LIMIT ? shown.at(-1) : undefined
    return { items: `[${shown.map(auditJson).join()}]`, nextBefore: last && `${last.at}_${last.id}` }
  },
})
