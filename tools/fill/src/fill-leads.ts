import {
  Customer,
  type Field,
  LeadListItem,
  leadJsonFormat,
  listFields,
  SEARCH_FORMAT,
} from '@leadwire/contracts'
import { fillWork } from './fill-work'
import { detailsTemplate, itemTemplate } from './model-lead'
import { renderInstant, type Sql, splitIntoBatches } from './sql'

/**
 * The number of leads in a batch. A batch locks the account's row for about a second. Meanwhile, requests
 * that create a lead in the account wait.
 */
const BATCH = 5000

/** Lists the fields that have a column. The others are computed. */
const listStoredFields = (record: typeof LeadListItem | typeof Customer) =>
  listFields(record).filter(({ expression }) => expression === undefined)

const LEAD_FIELDS = listStoredFields(LeadListItem)
const CUSTOMER_FIELDS = listStoredFields(Customer)
const COLUMNS = [...LEAD_FIELDS, ...CUSTOMER_FIELDS].map(({ column }) => column).join(', ')

/** Renders the SQL that reads the fields of a record from its JSON, in the order of their columns. */
const renderValues = (json: string, fields: Field[]) =>
  fields.map(({ name, type }) => `(${json} ->> '${name}')::${type}`).join(', ')

// Takes number, id and created_at together under the lock of the account's row, as a create does. The leads
// of a batch are a microsecond apart, and the last one is created now. The columns are read from the JSON,
// which has the same names.
const INSERT = `
  WITH counted AS (
    UPDATE accounts SET lead_count = lead_count + $2::int,
      last_lead_at = greatest(clock_timestamp(), last_lead_at + $2::int * interval '1 microsecond')
    WHERE id = $1 RETURNING lead_count - $2::int AS before, last_lead_at - $2::int * interval '1 microsecond' AS since
  ), given AS MATERIALIZED (
    SELECT before + n AS number, nextval('leads_id_seq') AS id, gen_random_uuid() AS reference,
      nextval('customers_id_seq') AS customer_id,
      ${renderInstant("since + n * interval '1 microsecond'")} AS created_at
    FROM counted CROSS JOIN generate_series(1, $2::int) AS n
  ), made AS MATERIALIZED (
    SELECT number,
      format($4::text, id, reference, number, number % 10000, created_at, customer_id) AS item,
      format($5::text, id, reference, number, number % 10000, created_at, customer_id) AS details
    FROM given
  ), lead AS (
    INSERT INTO leads (account_id, number, event_id, json_format, json, json_details, test, created_at, ${COLUMNS})
    SELECT $1, number, CASE WHEN $6::boolean THEN gen_random_uuid() END, $3, item, details, false,
      (l ->> 'created_at')::timestamptz, ${renderValues('l', LEAD_FIELDS)}, ${renderValues('c', CUSTOMER_FIELDS)}
    FROM (
      SELECT *, item::json AS l, concat('{', details, '}')::json -> 'customer' AS c FROM made ORDER BY number
    ) written
  )
  SELECT before FROM counted`

// Records that all leads are indexed, so that leads-service never writes their search terms.
const SKIP_INDEXING = `
  INSERT INTO lead_search_progress (account_id, number, suspected, format)
  SELECT id, lead_count, lead_count, ${SEARCH_FORMAT} FROM accounts WHERE id = $1
  ON CONFLICT (account_id) DO UPDATE SET number = excluded.number, suspected = excluded.suspected`

// Records that all leads are counted, so that leads-service never counts them for figures.
const SKIP_COUNTING = `
  INSERT INTO figures_progress (account_id, number) SELECT id, lead_count FROM accounts WHERE id = $1
  ON CONFLICT (account_id) DO UPDATE SET number = excluded.number`

interface Options {
  searchable?: boolean
  /** Whether to add notes, callbacks and appointments. */
  hasWork?: boolean
  /**
   * Writes the events of `count` leads, which have the numbers after `before`. Must commit the events before
   * it resolves, so that each committed lead has its event.
   */
  writeEvents?: (rows: Sql['rows'], batch: { before: number; count: number }) => Promise<void>
}

/**
 * Adds `count` leads to an account, without quotes, and without events unless `writeEvents` is given. Stores
 * the same JSON as services whose base URL of images is `assetsUrl` (without a slash at the end).
 * leads-service then writes the search terms and counts the leads, which takes minutes for millions of leads.
 * With `searchable: false`, leads-service does neither.
 */
export const fillLeads = async (
  { leads, assetsUrl }: { leads: Sql; assetsUrl: string },
  accountId: number,
  count: number,
  { searchable = true, hasWork = false, writeEvents }: Options = {},
): Promise<void> => {
  const hasEvents = writeEvents !== undefined
  const format = leadJsonFormat(assetsUrl)
  for (const size of splitIntoBatches(count, BATCH)) {
    await leads.transaction(async (rows) => {
      // Skips the checks of foreign keys, which would double the time. The rows are consistent by
      // construction.
      await rows('SET LOCAL session_replication_role = replica')
      const values = [accountId, size, format, itemTemplate, detailsTemplate, hasEvents]
      const [counted] = await rows<{ before: number }>(INSERT, values)
      if (!counted) throw new Error(`There is no account ${accountId}.`)
      if (hasWork) await fillWork(rows, accountId, { before: counted.before, count: size })
      const skipped = searchable ? [] : [SKIP_INDEXING, SKIP_COUNTING]
      for (const text of skipped) await rows(text, [accountId])
      await writeEvents?.(rows, { before: counted.before, count: size })
    })
  }
}
