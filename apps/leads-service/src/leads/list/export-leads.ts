import { LeadFilters } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { isId, isOptional, validate } from '../../arguments'
import type { Operation } from '../../operation'
import { MANAGED_JSON, managedBodies } from '../read/lead-rows'
import { changeHorizon } from './change-horizon'
import { numbersOf, SETTINGS, soundFilters } from './find-leads'
import { leadOrder, scanLeads } from './scan-leads'

/** How many leads a batch has at most: with 200 a statement takes some milliseconds. */
const BATCH = 200
/** What a batch has at most of the texts of leads, unless a single lead has more. */
const BATCH_BYTES = 4_000_000

/** The body is null where it was made in another format. */
type Row = { number: number; id: number; managed: string; body: string | null }

// The length of a text is known without reading it.
const select = statement<Row>('export-leads')`
  SELECT number, id, managed, body FROM (
    SELECT l.number, l.id, l.managed,
      CASE WHEN l.json_format = $3 THEN concat(left(l.json, -1), ',', l.managed, ',', l.json_details, '}') END AS body,
      sum(l.bytes) OVER (ORDER BY l.number) - l.bytes AS before
    FROM (
      SELECT l.number, l.id, json_format, json, json_details, ${MANAGED_JSON} AS managed,
        octet_length(json) + octet_length(json_details) AS bytes
      FROM unnest($2::bigint[]) AS asked (number) JOIN leads l ON l.account_id = $1 AND l.number = asked.number
    ) l
  ) batch
  WHERE before < ${BATCH_BYTES} ORDER BY number`

const OLDEST_FIRST = leadOrder('created_at')

/** The next batch of an account's leads that match, oldest first. It may be empty and have a `nextAfter`; the last one has none. */
export const exportLeads: Operation<'exportLeads'> = async (deps, request) => {
  const { database, jsonFormat } = deps
  const { accountId, after, filters = LeadFilters.create() } = request
  validate({ account_id: isId(accountId), after: isOptional(after, isId), ...soundFilters(filters) })
  const horizon = filters.updatedSince === undefined ? undefined : await changeHorizon(database)
  const { numbers: found, next } = await database.transaction(async (tx) => {
    for (const text of SETTINGS) tx.send({ text })
    const { first, last } = await numbersOf(tx, accountId, filters)
    const numbers = { first: Math.max(first, (after ?? 0) + 1), last }
    return scanLeads(tx, { accountId, filters, numbers, horizon, order: OLDEST_FIRST, limit: BATCH })
  })
  // Up to which number all were read; undefined at the end.
  const until = next ? next.number - 1 : found.at(-1)
  if (found.length === 0) return { leads: [], nextAfter: until }
  const rows = await select(database, accountId, found, jsonFormat)
  const leads = await managedBodies(database, accountId, rows, deps)
  return { leads, nextAfter: rows.length < found.length ? rows.at(-1)?.number : until }
}
