import { recordAudit, statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { leadEtag } from './lead-response'
import { MANAGED_JSON, managedBodies, requireLead } from './lead-rows'

const select = statement<Row>('retrieve-managed-lead')`
  SELECT l.id, l.version, ${MANAGED_JSON} AS managed, CASE WHEN l.json_format = $3
    THEN concat(left(l.json, -1), ',', ${MANAGED_JSON}, ',', l.json_details, '}') END AS body,
    (SELECT o.erased_at IS NOT NULL FROM leads o WHERE o.account_id = l.account_id AND o.id = l.duplicate_of_id) AS unlinked
  FROM leads l WHERE l.reference = $2 AND l.account_id = $1`

interface Row {
  id: number
  version: number
  managed: string
  body: string | null
  /**
   * Whether the lead that this lead is a duplicate of was erased. The erasure changes this response without
   * raising this lead's version, so the ETag must depend on this value, too.
   */
  unlinked: boolean | null
}

export const retrieveManagedLead: Operation<'retrieveManagedLead'> = async (deps, request) => {
  const { database, jsonFormat, actor } = deps
  const { accountId, isExport } = request
  const row = await requireLead(database, select, request, jsonFormat)
  if (isExport) {
    await database.transaction(async (tx) =>
      recordAudit(tx, actor, { accountId, action: 'lead.exported', targetId: row.id }),
    )
  }
  const [lead] = await managedBodies(database, accountId, [row], deps)
  return {
    body: Buffer.concat([Buffer.from('{"data":'), lead!, Buffer.from('}')]),
    etag: leadEtag(row.version, row.unlinked ? jsonFormat + 1 : jsonFormat),
  }
}
