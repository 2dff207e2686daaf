import type { AuditEntry, AuditPosition } from '@leadwire/contracts'
import { AUDIT_LIMIT, ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { cursorPageOf } from '../api/schemas'
import { notes } from '../validation/fields'
import { AuditRecord, auditJson } from './audit-schema'

const CursorQuery = Type.Object({
  cursor: Type.Optional(
    // The place of the last entry, which is for nobody to know: time and id.
    Type.String({
      pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z_[0-9a-f-]{36}$',
      ...notes('The `next_cursor` of the answer before. Without it the newest entries come.'),
    }),
  ),
})

const positionOf = (cursor: string | undefined): AuditPosition | undefined => {
  const [at, id] = cursor?.split('_') ?? []
  return at && id ? { at, id } : undefined
}

// Times have one length, and so have ids: they are ordered as PostgreSQL orders them.
const isOlder = (a: AuditEntry, b: AuditEntry) => (a.at === b.at ? a.id < b.id : a.at < b.at)

/** GET /manage/audit: what was changed of an account, by the changes of each service. */
export const listAudit = operation({
  method: 'GET',
  url: '/manage/audit',
  operationId: 'listAudit',
  tag: 'Management',
  summary: 'List what was changed',
  description:
    'Who changed users, tokens, images and webhook endpoints, and asked for attempts, by the API or the command line. Leads have a history of their own. Newest first, at most 100 in an answer. The `next_cursor` of an answer asks for those that follow.',
  scope: 'manage',
  query: CursorQuery,
  checks: CursorQuery,
  answer: {
    description: 'The newest, or those that follow the cursor.',
    schema: cursorPageOf(AuditRecord),
  },
  handler: async ({ accountId, clients, limits, check }) => {
    const { value, faults } = check()
    if (faults) throw ServiceError.invalid(faults)
    const asked = { accountId, before: positionOf(value.cursor) }
    const logs = await Promise.all(clients.audits.map((audit) => audit.listAudit(asked, limits)))
    const entries = logs.flatMap((log) => log.entries).sort((a, b) => (isOlder(a, b) ? 1 : -1))
    const shown = entries.slice(0, AUDIT_LIMIT)
    const last = entries.length > AUDIT_LIMIT ? shown.at(-1) : undefined
    const cursor = last ? `${last.at}_${last.id}` : null
    return `{"data":[${shown.map(auditJson).join(',')}],"next_cursor":${JSON.stringify(cursor)}}`
  },
})
