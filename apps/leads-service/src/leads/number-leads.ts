import type { Transaction } from '@leadwire/service-kit'
import type { Draft } from './draft-lead'
import type { Stamp } from './stamp-event'

interface StampRow extends Omit<Stamp, 'quoteIds' | 'itemIds'> {
  ord: number
  quoteIds: string[]
  itemIds: string[]
}

const ids = (table: string, count: string) =>
  `ARRAY (SELECT nextval('${table}_id_seq') FROM generate_series(1, ${count}))::text[]`

// Accounts are locked in the order of their ids, so that two batches that share some never wait for each other in a
// circle. Times are never before the account's last; those of one batch are a microsecond apart. Ids are drawn behind the
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

/** For each draft how many of its account's come behind it, and how many each account has. */
const countLeads = (drafts: Draft[]) => {
  const counts = new Map<number, number>()
  const behind = drafts.map(() => 0)
  for (let index = drafts.length - 1; index >= 0; index -= 1) {
    const { accountId } = drafts[index]!.event
    behind[index] = counts.get(accountId) ?? 0
    counts.set(accountId, behind[index]! + 1)
  }
  return { counts, behind }
}

/**
 * Gives each lead its account's next dense number, its ids and its time, in the order of the drafts; undefined where the
 * account is not there. The accounts stay locked until the transaction ends.
 */
export const numberLeads = async (tx: Transaction, drafts: Draft[]): Promise<(Stamp | undefined)[]> => {
  const { counts, behind } = countLeads(drafts)
  const rows = await tx.query<StampRow>({
    name: 'number-leads',
    text: NUMBER_LEADS,
    values: [
      [...counts.keys()],
      [...counts.values()],
      drafts.map(({ event }) => event.accountId),
      behind,
      drafts.map(({ event }) => event.lead!.quotes.length),
      drafts.map(({ event }) => event.lead!.quotes.reduce((sum, { items }) => sum + items.length, 0)),
    ],
  })
  const stamps = new Array<Stamp | undefined>(drafts.length)
  for (const row of rows)
    stamps[row.ord - 1] = { ...row, quoteIds: row.quoteIds.map(Number), itemIds: row.itemIds.map(Number) }
  return stamps
}
