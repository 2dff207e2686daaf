import type { RetrieveManagedLeadRequest, RetrieveManagedLeadResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { type JsonSettings, leadEtag } from './lead-response'
import { MANAGED_JSON, managedBodies, requireLead } from './lead-rows'

const SELECT = `
  SELECT l.id, l.version, ${MANAGED_JSON} AS managed, CASE WHEN l.json_format = $3
    THEN concat(left(l.json, -1), ',', ${MANAGED_JSON}, ',', l.json_details, '}') END AS body
  FROM leads l WHERE l.reference = $2 AND l.account_id = $1`

type Row = { id: number; version: number; managed: string; body: string | null }

/** A lead with what only the management interface shows. Throws not_found. */
export const retrieveManagedLead =
  ({ database, ...settings }: JsonSettings & { database: Database }) =>
  async (request: RetrieveManagedLeadRequest): Promise<RetrieveManagedLeadResponse> => {
    const { accountId } = request
    const { jsonFormat } = settings
    validate({ account_id: isId(accountId) })
    return database.connection(async (db) => {
      const query = { name: 'retrieve-managed-lead', text: SELECT }
      const row = await requireLead<Row>(db, query, request, jsonFormat)
      const [lead] = await managedBodies(db, accountId, [row], settings)
      return {
        body: Buffer.concat([Buffer.from('{"data":'), lead!, Buffer.from('}')]),
        etag: leadEtag(row.version, jsonFormat),
      }
    })
  }
