import type { RetrieveLeadsRequest } from '@leadwire/contracts'
import { statement, type Transaction } from '@leadwire/service-kit'
import { errorsOf, invalidBy, isId, isUuid } from '../../arguments'
import {
  type JsonSettings,
  type LeadKey,
  leadBody,
  leadEtag,
  leadJsonOf,
  leadNotFound,
  leadResultOf,
  type TaggedLead,
} from './lead-response'
import { leadsFromColumns } from './lead-rows'
import { deadlineOf, unlessTimedOut } from './unless-timed-out'

// The stored response of a lead; null where it was made in another format than asked for.
const selectLeads = statement<Row>('load-leads')`
  SELECT asked.ord::int, l.account_id AS "accountId", l.id, l.version,
    CASE WHEN l.json_format = $3 THEN concat('{"data":', left(l.json, -1), ',', l.json_details, '}}') END AS body
  FROM unnest($1::bigint[], $2::uuid[]) WITH ORDINALITY AS asked (account_id, reference, ord)
  JOIN leads l ON l.reference = asked.reference AND l.account_id = asked.account_id`

type Row = { ord: number; accountId: number; id: number; version: number; body: string | null }

// No lead has it: PostgreSQL is asked for well-formed references only.
const NO_REFERENCE = '00000000-0000-0000-0000-000000000000'

/**
 * Finished responses (interface: Retrieve Lead) of leads with customer and quotes, in the order asked for; undefined where
 * the account has no such lead. A lead whose JSON was made in another format is rendered from its columns.
 */
export const loadLeads = async (
  db: Transaction,
  asked: LeadKey[],
  { assetsUrl, jsonFormat }: JsonSettings,
): Promise<(TaggedLead | undefined)[]> => {
  const references = asked.map(({ reference }) => (isUuid(reference) ? reference : NO_REFERENCE))
  const accountIds = asked.map(({ accountId }) => accountId)
  const rows = await selectLeads(db, accountIds, references, jsonFormat)
  const others = rows.filter(({ body }) => body === null)
  // A lead may be asked for more than once.
  const leads = await leadsFromColumns(db, new Map(others.map((row) => [row.id, row])), assetsUrl)
  const tagged: (TaggedLead | undefined)[] = asked.map(() => undefined)
  for (const { ord, id, version, body } of rows)
    tagged[ord - 1] = {
      body: body === null ? leadBody(leadJsonOf(leads.get(id)!, jsonFormat)) : Buffer.from(body),
      // Read before the columns: a tag may be older than its body, and is then of no use, but never newer.
      etag: leadEtag(version, jsonFormat),
    }
  return tagged
}

export const retrieveLeads =
  ({ database, ...json }: { database: Transaction } & JsonSettings) =>
  async ({ leads }: RetrieveLeadsRequest) => {
    const deadlines = leads.map(deadlineOf)
    const found = await unlessTimedOut(leads, deadlines, (items) => loadLeads(database, items, json))
    const outcomes = found.map((lead, index) => {
      const wrong = invalidBy(errorsOf({ account_id: isId(leads[index]!.accountId) }))
      return wrong ?? lead ?? leadNotFound()
    })
    return { results: outcomes.map(leadResultOf) }
  }
