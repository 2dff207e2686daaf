import type { Transaction } from '@leadwire/service-kit'
import { isUuid } from '../../arguments'
import { leadEtag } from './lead-etag'
import { leadBody, leadJsonOf } from './lead-json'
import type { TaggedLead } from './lead-result'
import { leadsFromColumns } from './lead-rows'

// What was made of a lead in the format asked for; null stands for another format.
const SELECT_LEADS = `
  SELECT asked.ord::int, l.account_id, l.id, l.version,
    CASE WHEN l.json_format = $3 THEN concat('{"data":', left(l.json, -1), ',', l.json_details, '}}') END AS body
  FROM unnest($1::bigint[], $2::uuid[]) WITH ORDINALITY AS asked (account_id, reference, ord)
  JOIN leads l ON l.reference = asked.reference AND l.account_id = asked.account_id`

interface Row {
  ord: number
  account_id: number
  id: number
  version: number
  body: string | null
}

// No lead has it: PostgreSQL is asked for well-formed references only.
const NO_REFERENCE = '00000000-0000-0000-0000-000000000000'

/** How the JSON of leads is made: the address of images, without a slash at its end, and the number of both (`leadJsonFormat`). */
export interface JsonSettings {
  assetsUrl: string
  jsonFormat: number
}

/**
 * Finished responses (interface: Retrieve Lead) of leads with customer and quotes, in the order asked for; undefined where
 * the account has no such lead. A lead whose JSON was made in another format is rendered from its columns.
 */
export const loadLeads = async (
  db: Transaction,
  asked: { accountId: number; reference: string }[],
  { assetsUrl, jsonFormat }: JsonSettings,
): Promise<(TaggedLead | undefined)[]> => {
  const rows = await db.query<Row>({
    name: 'load-leads',
    text: SELECT_LEADS,
    values: [
      asked.map(({ accountId }) => accountId),
      asked.map(({ reference }) => (isUuid(reference) ? reference : NO_REFERENCE)),
      jsonFormat,
    ],
  })
  const tagged: (TaggedLead | undefined)[] = asked.map(() => undefined)
  for (const { ord, version, body } of rows)
    if (body !== null) tagged[ord - 1] = { body: Buffer.from(body), etag: leadEtag(version, jsonFormat) }
  const others = rows.filter(({ body }) => body === null)
  if (others.length > 0) {
    // A lead may be asked for more than once.
    const keys = new Map(others.map(({ account_id: accountId, id }) => [id, { accountId }]))
    const leads = await leadsFromColumns(db, keys, assetsUrl)
    // The version was read before the columns: a tag may be older than its body, and is then of no use, but never newer.
    for (const { ord, id, version } of others) {
      const body = leadBody(leadJsonOf(leads.get(id)!, jsonFormat))
      tagged[ord - 1] = { body, etag: leadEtag(version, jsonFormat) }
    }
  }
  return tagged
}
