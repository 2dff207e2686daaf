import { LeadFilters } from '@leadwire/contracts'
import { recordAudit, statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { MANAGED_JSON, managedBodies } from '../read/lead-rows'
import { changeHorizon } from './change-horizon'
import { checkSearch, findCreatedNumbers, SETTINGS } from './find-leads'
import { leadOrder, scanLeads } from './scan-leads'

/** The maximum number of leads in a batch. A statement with 200 leads takes a few milliseconds. */
const BATCH = 200
/** The size in bytes from which a batch is full. The lead that reaches this size is part of the batch. */
const BATCH_BYTES = 4_000_000

/** `body` is null if the stored JSON of the lead has another format. */
type Row = { number: number; id: number; managed: string; body: string | null }

// Limits the batch by the size of its JSON. This is cheap, because PostgreSQL knows the length of a text
// without reading the text.
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

/**
 * Returns the next batch of an account's leads that match the filters, oldest first. A batch without
 * `nextAfter` is empty, and is the last. A batch with `nextAfter` is not the last, even if it is empty. The
 * audit log records an export once, at its first batch.
 */
export const exportLeads: Operation<'exportLeads'> = async (deps, request) => {
  const { database, jsonFormat, actor } = deps
  const { accountId, after, filters = LeadFilters.create() } = request
  checkSearch(filters)
  if (after === undefined) {
    await database.transaction(async (tx) =>
      recordAudit(tx, actor, { accountId, action: 'account.exported', targetId: accountId }),
    )
  }
  const horizon = filters.updatedSince === undefined ? undefined : await changeHorizon(database)
  const { numbers: found, next } = await database.transaction(async (tx) => {
    for (const text of SETTINGS) tx.send({ text })
    const { numbers: created, byDate } = await findCreatedNumbers(tx, accountId, filters)
    const numbers = { first: Math.max(created.first, (after ?? 0) + 1), last: created.last }
    return scanLeads(tx, { accountId, filters, numbers, byDate, horizon, order: OLDEST_FIRST, limit: BATCH })
  })
  // The scan has read all leads up to this number. undefined if no lead is left.
  const until = next ? next.number - 1 : found.at(-1)
  if (found.length === 0) return { leads: [], nextAfter: until }
  const rows = await select(database, accountId, found, jsonFormat)
  const leads = await managedBodies(database, accountId, rows, deps)
  return { leads, nextAfter: rows.length < found.length ? rows.at(-1)?.number : until }
}
