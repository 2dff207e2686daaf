import {
  Customer,
  type Field,
  fieldsOf,
  LeadListItem,
  leadJsonFormat,
  SEARCH_FORMAT,
} from '@leadwire/contracts'
import { detailsTemplate, itemTemplate } from './model-lead'
import { instant, portionsOf, type Sql } from './sql'

/** How long an account's row stays locked, and creates for it wait, is bounded by this: about a second. */
const PORTION = 5000

const columnsOf = (record: typeof LeadListItem | typeof Customer) =>
  fieldsOf(record).filter(({ expression }) => expression === undefined)

const LEAD_FIELDS = columnsOf(LeadListItem)
const CUSTOMER_FIELDS = columnsOf(Customer)
const COLUMNS = [...LEAD_FIELDS, ...CUSTOMER_FIELDS].map(({ column }) => column).join(', ')

/** The fields of a record out of its JSON, in the order of their columns. */
const valuesOf = (json: string, fields: Field[]) =>
  fields.map(({ name, type }) => `(${json} ->> '${name}')::${type}`).join(', ')

// As a create does it: number, id and created_at are taken together under the lock of the account's row. The leads of a
// portion are a microsecond apart, the last of them now. The columns are read out of the JSON, whose names they have.
const INSERT = `
  WITH counted AS (
    UPDATE accounts SET lead_count = lead_count + $2::int,
      last_lead_at = greatest(clock_timestamp(), last_lead_at + $2::int * interval '1 microsecond')
    WHERE id = $1 RETURNING lead_count - $2::int AS before, last_lead_at - $2::int * interval '1 microsecond' AS since
  ), given AS MATERIALIZED (
    SELECT before + n AS number, nextval('leads_id_seq') AS id, gen_random_uuid() AS reference,
      nextval('customers_id_seq') AS customer_id, ${instant("since + n * interval '1 microsecond'")} AS created_at
    FROM counted CROSS JOIN generate_series(1, $2::int) AS n
  ), made AS MATERIALIZED (
    SELECT number,
      format($4::text, id, reference, number, number % 10000, created_at, customer_id) AS item,
      format($5::text, id, reference, number, number % 10000, created_at, customer_id) AS details
    FROM given
  ), lead AS (
    INSERT INTO leads (account_id, number, event_id, json_format, json, json_details, test, ${COLUMNS})
    SELECT $1, number, CASE WHEN $6::boolean THEN gen_random_uuid() END, $3, item, details, false,
      ${valuesOf('l', LEAD_FIELDS)}, ${valuesOf('c', CUSTOMER_FIELDS)}
    FROM (
      SELECT *, item::json AS l, concat('{', details, '}')::json -> 'customer' AS c FROM made ORDER BY number
    ) written
  )
  SELECT before FROM counted`

// As if their words had been written: leads-service goes on behind them.
const LEAVE_OUT_OF_SEARCH = `
  INSERT INTO lead_search_progress (account_id, number, format) SELECT id, lead_count, ${SEARCH_FORMAT} FROM accounts WHERE id = $1
  ON CONFLICT (account_id) DO UPDATE SET number = excluded.number`

interface Options {
  searchable?: boolean
  /** Writes the events of the portion behind number `before`. They are committed first: no lead names an event that is not there. */
  tell?: (rows: Sql['rows'], portion: { before: number; count: number }) => Promise<void>
}

/**
 * Gives an account `count` leads more, without quotes, and without events unless `tell` writes them. Their JSON is what services with
 * this address of images (without a slash at its end) keep. leads-service then writes the words that they are found by, for minutes
 * where there are millions; with `searchable` false it does not.
 */
export const fillLeads = async (
  { leads, assetsUrl }: { leads: Sql; assetsUrl: string },
  accountId: number,
  count: number,
  { searchable = true, tell }: Options = {},
): Promise<void> => {
  const made = [leadJsonFormat(assetsUrl), itemTemplate, detailsTemplate, tell !== undefined]
  for (const portion of portionsOf(count, PORTION)) {
    await leads.transaction(async (rows) => {
      // The rows fit together by how they are made; a look-up for each foreign key would double the time.
      await rows('SET LOCAL session_replication_role = replica')
      const [counted] = await rows<{ before: number }>(INSERT, [accountId, portion, ...made])
      if (!counted) throw new Error(`There is no account ${accountId}.`)
      if (!searchable) await rows(LEAVE_OUT_OF_SEARCH, [accountId])
      await tell?.(rows, { before: counted.before, count: portion })
    })
  }
}
