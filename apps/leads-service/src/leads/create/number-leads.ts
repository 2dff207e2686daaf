import type { CreateLead } from '@leadwire/contracts'
import { statement, type Transaction } from '@leadwire/service-kit'

/** The values of a new lead that PostgreSQL assigns. */
export interface Stamp {
  accountKey: string
  /** The numbers of an account's leads have no gaps. */
  number: number
  id: number
  customerId: number
  /** ISO 8601 with microseconds. */
  createdAt: string
  quoteIds: number[]
  itemIds: number[]
}

// The driver reads the elements of float8[] as numbers, but not the elements of bigint[].
const ids = (table: string, count: string) =>
  `ARRAY (SELECT nextval('${table}_id_seq') FROM generate_series(1, ${count}))::float8[]`

// Locks accounts by ascending id, so that two batches never deadlock. A lead's time is never before the time
// of the account's last lead, and the leads of a batch are a microsecond apart. Ids are drawn after the sort
// of `numbered`, so that number, id and time have the same order. `nth` is 1 for the first lead of an account
// in the batch, and 2 for the next. The time of a lead is `before_at` + `nth` us. For example, `before_at` is
// now - 1 us for a batch of two leads. The leads then get the times now and now + 1 us, and `last_lead_at`
// becomes now + 1 us.
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

/** Locks accounts in the same order as `numberLeads`, before the transaction numbers any lead. */
export const lockAccounts = statement('lock-accounts')`
  SELECT FROM accounts WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`

const drawParts = statement<Pick<Stamp, 'quoteIds' | 'itemIds'>>('draw-ids')`
  SELECT ${ids('quotes', '$1::int')} AS "quoteIds", ${ids('quote_items', '$2::int')} AS "itemIds"`

/** Draws ids for new quotes and items of a stored lead. */
export const drawIds = async (
  tx: Transaction,
  item: CreateLead,
): Promise<Pick<Stamp, 'quoteIds' | 'itemIds'>> => {
  const counts = [item.lead!.quotes.length, countItems(item)]
  if (counts[0] === 0) return { quoteIds: [], itemIds: [] }
  const [drawn] = await drawParts(tx, ...counts)
  return drawn!
}

/** Counts the items in all quotes of a lead. */
export const countItems = ({ lead }: CreateLead): number =>
  lead!.quotes.reduce((sum, { items }) => sum + items.length, 0)

/**
 * Locks the accounts of new leads, and assigns numbers, ids and times. Resolves with a stamp for each lead,
 * in the order of `leads`. The stamp is undefined if the account does not exist.
 */
export const numberLeads = async (tx: Transaction, leads: CreateLead[]): Promise<(Stamp | undefined)[]> => {
  const counts = new Map<number, number>()
  const nth = leads.map(({ accountId }) => {
    const count = (counts.get(accountId) ?? 0) + 1
    counts.set(accountId, count)
    return count
  })
  const accountIds = leads.map(({ accountId }) => accountId)
  const parts = [leads.map(({ lead }) => lead!.quotes.length), leads.map(countItems)]
  const values = [[...counts.keys()], [...counts.values()], accountIds, nth, ...parts]
  const rows = await drawNumbers(tx, ...values)
  const stamps = new Array<Stamp | undefined>(leads.length)
  for (const row of rows) stamps[row.ord - 1] = row
  return stamps
}
