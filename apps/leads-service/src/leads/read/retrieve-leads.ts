import { isUuid, type RetrieveLeadsRequest } from '@leadwire/contracts'
import {
  findDeadline,
  type RunInTurn,
  statement,
  type Transaction,
  unlessTimedOut,
} from '@leadwire/service-kit'
import {
  type JsonSettings,
  type LeadKey,
  leadBody,
  leadEtag,
  leadNotFound,
  renderLeadJson,
  type TaggedLead,
  toLeadResult,
} from './lead-response'
import { leadsFromColumns } from './lead-rows'

// `body` is the response, made from the stored JSON of the lead. `body` is null if the stored JSON has
// another format than $3.
const selectLeads = statement<Row>('load-leads')`
  SELECT asked.ord::int, l.account_id AS "accountId", l.id, l.version,
    CASE WHEN l.json_format = $3 THEN concat('{"data":', left(l.json, -1), ',', l.json_details, '}}') END AS body
  FROM unnest($1::bigint[], $2::uuid[]) WITH ORDINALITY AS asked (account_id, reference, ord)
  JOIN leads l ON l.reference = asked.reference AND l.account_id = asked.account_id`

type Row = { ord: number; accountId: number; id: number; version: number; body: string | null }

// Replaces a malformed reference, which PostgreSQL would not accept. No lead has the replacement.
const NO_REFERENCE = '00000000-0000-0000-0000-000000000000'

/**
 * Loads leads as finished responses (the lead API, section Retrieve Lead), in the order of `asked`. A
 * response is undefined if the account has no such lead. If the stored JSON of a lead has another format, the
 * lead is rendered from its columns.
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
  // Uses a Map, because several requests may name the same lead.
  const leads = await leadsFromColumns(db, new Map(others.map((row) => [row.id, row])), assetsUrl)
  const tagged: (TaggedLead | undefined)[] = asked.map(() => undefined)
  for (const { ord, id, version, body } of rows)
    tagged[ord - 1] = {
      body: body === null ? leadBody(renderLeadJson(leads.get(id)!, jsonFormat)) : Buffer.from(body),
      // The version is read before the columns, so a tag may be older than its body, but never newer.
      etag: leadEtag(version, jsonFormat),
    }
  return tagged
}

/** Retrieves leads, each for its own account. */
export const retrieveLeads =
  ({ database, ...json }: { database: Transaction } & JsonSettings, runInTurn: RunInTurn) =>
  async ({ leads }: RetrieveLeadsRequest) => {
    const deadlines = leads.map(findDeadline)
    const found = await runInTurn(leads[0]?.accountId ?? 0, () =>
      unlessTimedOut(leads, deadlines, (items) => loadLeads(database, items, json)),
    )
    return { results: found.map((lead) => toLeadResult(lead ?? leadNotFound())) }
  }
