import { crc32 } from 'node:zlib'
import { recordAudit, statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { leadEtag } from './lead-response'
import { MANAGED_JSON, managedBodies, requireLead, USER_JSON } from './lead-rows'

const select = statement<Row>('retrieve-managed-lead')`
  SELECT l.id, l.version, l.managed, l.user_json AS "userJson", CASE WHEN l.json_format = $3
    THEN concat(left(l.json, -1), ',', l.managed, ',"user":', l.user_json, ',', l.json_details, '}') END AS body,
    (SELECT o.erased_at IS NOT NULL FROM leads o
      WHERE o.account_id = l.account_id AND o.id = l.duplicate_of_id) AS unlinked
  FROM (SELECT l.*, ${MANAGED_JSON} AS managed, ${USER_JSON} AS user_json
    FROM leads l WHERE l.reference = $2 AND l.account_id = $1) l`

interface Row {
  id: number
  version: number
  managed: string
  userJson: string
  body: string | null
  /** Whether the lead that this lead is a duplicate of was erased. */
  unlinked: boolean | null
}

/**
 * Returns a number for the data of other records that the response shows. If an original is erased, or if a
 * user is renamed or removed, the response changes but the version of the lead does not. The ETag therefore
 * has this number, too.
 */
const hashOtherRecords = ({ userJson, unlinked }: Row): number =>
  crc32(`${userJson}${unlinked ? 'unlinked' : ''}`)

export const retrieveManagedLead: Operation<'retrieveManagedLead'> = async (deps, request) => {
  const { database, jsonFormat, actor } = deps
  const { accountId, isExport } = request
  const row = await requireLead(database, select, request, jsonFormat)
  if (isExport) {
    await database.transaction(async (tx) =>
      recordAudit(tx, actor, { accountId, action: 'lead.exported', targetId: row.id }),
    )
  }
  const managed = `${row.managed},"user":${row.userJson}`
  const [lead] = await managedBodies(database, accountId, [{ ...row, managed }], deps)
  return {
    body: Buffer.concat([Buffer.from('{"data":'), lead!, Buffer.from('}')]),
    etag: leadEtag(row.version, jsonFormat ^ hashOtherRecords(row)),
  }
}
