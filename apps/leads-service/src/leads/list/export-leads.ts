import { type ExportLeadsRequest, type ExportLeadsResponse, LeadFilters } from '@leadwire/contracts'
import type { Database, Transaction } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { leadJsonOf, wholeLeadJson } from '../read/lead-json'
import { leadsFromColumns } from '../read/lead-rows'
import type { JsonSettings } from '../read/load-leads'
import { changeHorizon } from './change-horizon'
import { numbersOf, SETTINGS, soundFilters } from './find-leads'
import { leadOrder } from './lead-order'
import { scanLeads } from './scan-leads'

/** How many leads a batch has at most: with 200 a statement takes some milliseconds. */
const BATCH = 200
/** What a batch has at most of the texts of leads, unless a single lead has more. */
const BATCH_BYTES = 4_000_000

// The length of a text is known without reading it.
const SELECT = `
  SELECT number, id, body FROM (
    SELECT l.number, l.id,
      CASE WHEN l.json_format = $3 THEN concat(left(l.json, -1), ',', l.json_details, '}') END AS body,
      sum(l.bytes) OVER (ORDER BY l.number) - l.bytes AS before
    FROM (
      SELECT l.number, l.id, json_format, json, json_details, octet_length(json) + octet_length(json_details) AS bytes
      FROM unnest($2::bigint[]) AS asked (number) JOIN leads l ON l.account_id = $1 AND l.number = asked.number
    ) l
  ) batch
  WHERE before < ${BATCH_BYTES} ORDER BY number`

interface Row {
  number: number
  id: number
  /** Null where it was made in another format. */
  body: string | null
}

/**
 * The numbers of the next leads that match, and the number up to which all were read; undefined at the end. No number is missing
 * among the leads of an account, so that none has to be read where only times are asked for.
 */
const numbersAfter = (
  database: Database,
  { accountId, after = 0, filters = LeadFilters.create() }: ExportLeadsRequest,
  horizon: string | undefined,
): Promise<{ found: number[]; until: number | undefined }> =>
  database.transaction(async (tx) => {
    for (const text of SETTINGS) tx.send({ text })
    const { first, last } = await numbersOf(tx, accountId, filters)
    const numbers = { first: Math.max(first, after + 1), last }
    const { createdFrom: _from, createdTo: _to, ...others } = filters
    if (Object.values(others).every((filter) => filter === undefined)) {
      const length = Math.max(0, Math.min(BATCH, last - numbers.first + 1))
      const found = Array.from({ length }, (_, index) => numbers.first + index)
      return { found, until: found.at(-1) }
    }
    const scan = { order: leadOrder('created_at'), cursor: undefined, offset: 0, counted: false }
    const asked = { accountId, filters, numbers, horizon, limit: BATCH, ...scan }
    const { numbers: found, next } = await scanLeads(tx, asked)
    return { found, until: next ? next.number - 1 : found.at(-1) }
  })

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

/**
 * The next leads of an account that match, oldest first, as many as a batch has. It may have none and a `nextAfter`, where many that
 * do not match lie between; without `nextAfter` it is the last.
 */
export const exportLeads =
  ({ database, ...settings }: JsonSettings & { database: Database }) =>
  async (request: ExportLeadsRequest): Promise<ExportLeadsResponse> => {
    const { accountId, after, filters } = request
    validate({
      account_id: isId(accountId),
      after: after === undefined || isId(after),
      ...soundFilters(filters),
    })
    const horizon = filters?.updatedSince === undefined ? undefined : await changeHorizon(database)
    const { found, until } = await numbersAfter(database, request, horizon)
    if (found.length === 0) return { leads: [], nextAfter: until }
    return database.connection(async (db) => {
      const values = [accountId, found, settings.jsonFormat]
      const rows = await db.query<Row>({ name: 'export-leads', text: SELECT, values })
      const leads = await bodiesOf(db, accountId, rows, settings)
      return { leads, nextAfter: rows.length < found.length ? rows.at(-1)?.number : until }
    })
  }
