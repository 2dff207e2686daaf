import type { ExportLeadsRequest, ExportLeadsResponse } from '@leadwire/contracts'
import { type Database, isUnfitTime, ServiceError, type Transaction } from '@leadwire/service-kit'
import { demand, isId } from '../arguments'
import { leadJsonOf, wholeLeadJson } from './lead-json'
import { leadsFromColumns } from './lead-rows'
import type { JsonSettings } from './load-leads'

/** How many leads a portion has at most: with 200 a statement takes some milliseconds. */
const PORTION = 200
/** What a portion has at most of the texts of leads, unless a single lead has more. */
const PORTION_BYTES = 4_000_000

// Times and numbers of an account rise together, so the highest number of before a time is found by halving: 24 look-ups among
// ten million leads, and no index of times, which each create would pay for.
const NUMBER_BEFORE = `
  WITH RECURSIVE search (low, high) AS (
    SELECT 0::bigint, lead_count + 1 FROM accounts WHERE id = $1
    UNION ALL
    SELECT CASE WHEN l.created_at < $2 THEN mid ELSE low END, CASE WHEN l.created_at < $2 THEN high ELSE mid END
    FROM (SELECT low, high, (low + high) / 2 AS mid FROM search WHERE high - low > 1) s
    JOIN leads l ON l.account_id = $1 AND l.number = s.mid
  )
  SELECT low AS number FROM search ORDER BY high - low LIMIT 1`

// The length of a text is known without reading it.
const SELECT = `
  SELECT number, id, body FROM (
    SELECT l.number, l.id, l.created_at,
      CASE WHEN l.json_format = $3 THEN concat(left(l.json, -1), ',', l.json_details, '}') END AS body,
      sum(l.bytes) OVER (ORDER BY l.number) - l.bytes AS before
    FROM (
      SELECT number, id, created_at, json_format, json, json_details,
        octet_length(json) + octet_length(json_details) AS bytes
      FROM leads WHERE account_id = $1 AND number > $2 ORDER BY number LIMIT ${PORTION}
    ) l
  ) portion
  WHERE before < ${PORTION_BYTES} AND created_at < $4
  ORDER BY number`

interface Row {
  number: number
  id: number
  /** Null where it was made in another format. */
  body: string | null
}

const numberBefore = async (db: Transaction, accountId: number, time: string): Promise<number> => {
  const query = { name: 'lead-number-before', text: NUMBER_BEFORE, values: [accountId, time] }
  const [found] = await db.query<{ number: number }>(query)
  return found?.number ?? 0
}

const bodiesOf = async (
  db: Transaction,
  accountId: number,
  rows: Row[],
  { assetsUrl, jsonFormat }: JsonSettings,
): Promise<Buffer[]> => {
  const others = new Map(rows.filter(({ body }) => body === null).map(({ id }) => [id, { accountId }]))
  const leads = others.size > 0 ? await leadsFromColumns(db, others, assetsUrl) : undefined
  return rows.map(({ id, body }) =>
    Buffer.from(body ?? wholeLeadJson(leadJsonOf(leads!.get(id)!, jsonFormat))),
  )
}

const exportPortion = async (
  db: Transaction,
  { accountId, after, createdFrom, createdTo = 'infinity' }: ExportLeadsRequest,
  settings: JsonSettings,
): Promise<ExportLeadsResponse> => {
  const start = after ?? (createdFrom === undefined ? 0 : await numberBefore(db, accountId, createdFrom))
  const values = [accountId, start, settings.jsonFormat, createdTo]
  const rows = await db.query<Row>({ name: 'export-leads', text: SELECT, values })
  return { leads: await bodiesOf(db, accountId, rows, settings), nextAfter: rows.at(-1)?.number }
}

/** A portion of an account's leads, oldest first. One without leads, and without `nextAfter`, is the last. */
export const exportLeads =
  ({ database, ...settings }: JsonSettings & { database: Database }) =>
  async (request: ExportLeadsRequest): Promise<ExportLeadsResponse> => {
    const { accountId, after } = request
    demand({ account_id: isId(accountId), after: after === undefined || isId(after) })
    try {
      return await database.connection((db) => exportPortion(db, request, settings))
    } catch (error) {
      throw isUnfitTime(error) ? ServiceError.invalid({ created_from: ['The time is invalid.'] }) : error
    }
  }
