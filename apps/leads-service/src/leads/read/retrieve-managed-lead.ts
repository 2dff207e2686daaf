import { statement, type Transaction } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import type { Operation } from '../../operation'
import { type JsonSettings, type LeadKey, leadEtag, type TaggedLead } from './lead-response'
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
  /** Whether the lead that it is a duplicate of was erased, which changes what is shown without another version. */
  unlinked: boolean | null
}

/** A lead with what only the management interface shows. Throws not_found. */
export const loadManagedLead = async (
  db: Transaction,
  asked: LeadKey,
  settings: JsonSettings,
): Promise<TaggedLead> => {
  const { jsonFormat } = settings
  const row = await requireLead(db, select, asked, jsonFormat)
  const [lead] = await managedBodies(db, asked.accountId, [row], settings)
  return {
    body: Buffer.concat([Buffer.from('{"data":'), lead!, Buffer.from('}')]),
    etag: leadEtag(row.version, row.unlinked ? jsonFormat + 1 : jsonFormat),
  }
}

export const retrieveManagedLead: Operation<'retrieveManagedLead'> = async (deps, request) => {
  validate({ account_id: isId(request.accountId) })
  return loadManagedLead(deps.database, request, deps)
}
