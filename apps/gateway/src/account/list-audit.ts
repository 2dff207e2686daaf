import type { AuditEntry, AuditPosition } from '@leadwire/contracts'
import { AUDIT_LIMIT } from '@leadwire/service-kit'
import { listOperation } from '../api/list-operation'
import { AuditRecord, auditJson } from './audit-schema'

const positionOf = (cursor: string | undefined): AuditPosition | undefined => {
  const [at, id] = cursor?.split('_') ?? []
  return at && id ? { at, id } : undefined
}

// All times have the same length, and all ids, so strings are ordered as PostgreSQL orders them.
const isOlder = (a: AuditEntry, b: AuditEntry) => (a.at === b.at ? a.id < b.id : a.at < b.at)

/** What was changed of an account: the entries of all services, merged. */
export const listAudit = listOperation({
  route: 'GET /manage/audit',
  operationId: 'listAudit',
  summary: 'List what was changed',
  description:
    'Who changed users, tokens, images and webhook endpoints, and asked for attempts, by the API or the command line. Leads have a history of their own. Newest first, at most 100 in an answer. The `next_cursor` of an answer asks for those that follow.',
  record: AuditRecord,
  cursor: {
    description: 'The `next_cursor` of the answer before. Without it the newest entries come.',
    // The place of the last entry: its time and id.
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z_[0-9a-f-]{36}$',
  },
  find: async ({ accountId, clients, limits }, _filters, cursor) => {
    const asked = { accountId, before: positionOf(cursor) }
    const logs = await Promise.all(clients.audits.map((audit) => audit.listAudit(asked, limits)))
    const entries = logs.flatMap((log) => log.entries).sort((a, b) => (isOlder(a, b) ? 1 : -1))
    const shown = entries.slice(0, AUDIT_LIMIT)
    const last = entries.length > AUDIT_LIMIT ? shown.at(-1) : undefined
    return { items: `[${shown.map(auditJson).join()}]`, next: last && `${last.at}_${last.id}` }
  },
})
