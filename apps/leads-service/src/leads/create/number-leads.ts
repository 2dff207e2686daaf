import type { CreateLead } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'

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

interface StampRow extends Omit<Stamp, 'quoteIds' | 'itemIds'> {
  ord: number
  quoteIds: string[]
  itemIds: string[]
}

const ids = (table: string, count: string) =>
  `ARRAY (SELECT nextval('${table}_id_seq') FROM generate_series(1, ${count}))::text[]`

// Accounts are locked in the order of their ids, so that two batches that share some never
// deadlock. Times are never before the account's last; those of one batch differ by a microsecond. Ids are drawn behind the
// sort, so that number, id and time agree. `behind` is how many leads of the same account follow in the batch.
const NUMBER_LEADS = `
  WITH locked AS MATERIALIZED (
    SELECT a.id, asked.leads
    FROM unnest($1::bigint[], $2::int[]) AS asked (account_id, leads) JOIN accounts a ON a.id = asked.account_id
    ORDER BY a.id FOR NO KEY UPDATE OF a
  ), counted AS (
    UPDATE accounts a SET lead_count = lead_count + leads,
      last_lead_at = greatest(clock_timestamp(), last_lead_at) + (leads - 1) * interval '1 microsecond'
    FROM locked WHERE a.id = locked.id
    RETURNING a.id, a.api_key, a.lead_count, a.last_lead_at
  ), numbered AS MATERIALIZED (
    SELECT asked.ord, asked.quotes, asked.items, c.api_key, c.lead_count - asked.behind AS number,
      c.last_lead_at - asked.behind * interval '1 microsecond' AS created_at
    FROM unnest($3::bigint[], $4::int[], $5::int[], $6::int[]) WITH ORDINALITY AS asked (account_id, behind, quotes, items, ord)
    JOIN counted c ON c.id = asked.account_id
    ORDER BY asked.ord
  )
  SELECT ord::int, api_key AS "accountKey", number, created_at AS "createdAt", nextval('leads_id_seq') AS id,
    nextval('customers_id_seq') AS "customerId", ${ids('quotes', 'quotes')} AS "quoteIds",
    ${ids('quote_items', 'items')} AS "itemIds"
  FROM numbered`

/** How many items a lead has in all its quotes. */
export const itemCount = ({ lead }: CreateLead): number =>
  lead!.quotes.reduce((sum, { items }) => sum + items.length, 0)

/** For each lead how many of its account's come behind it, and how many each account has. */
const countLeads = (leads: CreateLead[]) => {
  const counts = new Map<number, number>()
  const behind = leads.map(() => 0)
  for (let index = leads.length - 1; index >= 0; index -= 1) {
    const { accountId } = leads[index]!
    behind[index] = counts.get(accountId) ?? 0
    counts.set(accountId, behind[index]! + 1)
  }
  return { counts, behind }
}

/**
 * Gives each lead its account's next dense number, its ids and its time, in the order of `leads`; undefined where the
 * account is not there. The accounts stay locked until the transaction ends.
 */
export const numberLeads = async (tx: Transaction, leads: CreateLead[]): Promise<(Stamp | undefined)[]> => {
  const { counts, behind } = countLeads(leads)
  const rows = await tx.query<StampRow>({
    name: 'number-leads',
    text: NUMBER_LEADS,
    values: [
      [...counts.keys()],
      [...counts.values()],
      leads.map(({ accountId }) => accountId),
      behind,
      leads.map(({ lead }) => lead!.quotes.length),
      leads.map(itemCount),
    ],
  })
  const stamps = new Array<Stamp | undefined>(leads.length)
  for (const row of rows)
    stamps[row.ord - 1] = { ...row, quoteIds: row.quoteIds.map(Number), itemIds: row.itemIds.map(Number) }
  return stamps
}
