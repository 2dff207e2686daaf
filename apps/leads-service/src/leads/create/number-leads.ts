import type { CreateLead } from '@leadwire/contracts'
import { statement, type Transaction } from '@leadwire/service-kit'

/** What only PostgreSQL can say of a new lead. */
export interface Stamp {
  accountKey: string
  /** Dense within the account. */
  number: number
  id: number
  customerId: number
  /** ISO 8601 with microseconds. */
  createdAt: string
  quoteIds: number[]
  itemIds: number[]
}

// float8, because only arrays of it are read as numbers.
const ids = (table: string, count: string) =>
  `ARRAY (SELECT nextval('${table}_id_seq') FROM generate_series(1, ${count}))::float8[]`

// Accounts are locked by ascending id, so that two batches never deadlock. Times are never before the account's last; those of a
// batch differ by a microsecond. Ids are drawn behind the sort, so that number, id and time agree. `nth` counts an account's leads.
const drawNumbers = statement<Stamp & { ord: number }>('number-leads')`
  WITH locked AS MATERIALIZED (
    SELECT a.id, asked.leads
    FROM unnest($1::bigint[], $2::int[]) AS asked (account_id, leads) JOIN accounts a ON a.id = asked.account_id
    ORDER BY a.id FOR NO KEY UPDATE OF a
  ), counted AS (
    UPDATE accounts a SET lead_count = lead_count + leads,
      last_lead_at = greatest(clock_timestamp(), last_lead_at) + (leads - 1) * interval '1 microsecond'
    FROM locked WHERE a.id = locked.id
    RETURNING a.id, a.api_key, a.lead_count - leads AS before, a.last_lead_at - leads * interval '1 microsecond' AS before_at
  ), numbered AS MATERIALIZED (
    SELECT asked.ord, asked.quotes, asked.items, c.api_key, c.before + asked.nth AS number,
      c.before_at + asked.nth * interval '1 microsecond' AS created_at
    FROM unnest($3::bigint[], $4::int[], $5::int[], $6::int[]) WITH ORDINALITY AS asked (account_id, nth, quotes, items, ord)
    JOIN counted c ON c.id = asked.account_id
    ORDER BY asked.ord
  )
  SELECT ord::int, api_key AS "accountKey", number, created_at AS "createdAt", nextval('leads_id_seq') AS id,
    nextval('customers_id_seq') AS "customerId", ${ids('quotes', 'quotes')} AS "quoteIds",
    ${ids('quote_items', 'items')} AS "itemIds"
  FROM numbered`

/** The same lock, for what is numbered later in the transaction. */
export const lockAccounts = statement('lock-accounts')`
  SELECT FROM accounts WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`

const drawParts = statement<Pick<Stamp, 'quoteIds' | 'itemIds'>>('draw-ids')`
  SELECT ${ids('quotes', '$1::int')} AS "quoteIds", ${ids('quote_items', '$2::int')} AS "itemIds"`

/** Ids of the quotes of a lead that is there. */
export const drawIds = async (
  tx: Transaction,
  item: CreateLead,
): Promise<Pick<Stamp, 'quoteIds' | 'itemIds'>> => {
  const counts = [item.lead!.quotes.length, itemCount(item)]
  if (counts[0] === 0) return { quoteIds: [], itemIds: [] }
  const [drawn] = await drawParts(tx, ...counts)
  return drawn!
}

/** How many items a lead has in all its quotes. */
export const itemCount = ({ lead }: CreateLead): number =>
  lead!.quotes.reduce((sum, { items }) => sum + items.length, 0)

/** Numbers, ids and times of leads, in their order; undefined where the account does not exist. The accounts stay locked. */
export const numberLeads = async (tx: Transaction, leads: CreateLead[]): Promise<(Stamp | undefined)[]> => {
  const counts = new Map<number, number>()
  const nth = leads.map(({ accountId }) => {
    const count = (counts.get(accountId) ?? 0) + 1
    counts.set(accountId, count)
    return count
  })
  const accountIds = leads.map(({ accountId }) => accountId)
  const parts = [leads.map(({ lead }) => lead!.quotes.length), leads.map(itemCount)]
  const values = [[...counts.keys()], [...counts.values()], accountIds, nth, ...parts]
  const rows = await drawNumbers(tx, ...values)
  const stamps = new Array<Stamp | undefined>(leads.length)
  for (const row of rows) stamps[row.ord - 1] = row
  return stamps
}
