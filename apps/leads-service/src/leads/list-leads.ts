import { type ListLeadsRequest, type ListLeadsResponse, leadListItemJson } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { LEAD_COLUMNS, type LeadRow, leadOfRow } from './lead-row'

const PER_PAGE = 20

interface ListedRow extends LeadRow {
  ord: number
  total: number
}

// The total is the highest number, so page N is the range of numbers total-20N+1 … total-20(N-1): an index range scan
// that costs the same at any depth. A row with no id stands for an empty page, and brings the total all the same.
const SELECT_PAGES = `
  SELECT asked.ord::int, a.lead_count AS total, ${LEAD_COLUMNS}
  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS asked (account_id, skipped, ord)
  JOIN accounts a ON a.id = asked.account_id
  LEFT JOIN LATERAL (
    SELECT * FROM leads
    WHERE leads.account_id = asked.account_id
      AND leads.number <= a.lead_count - asked.skipped
      AND leads.number > a.lead_count - asked.skipped - ${PER_PAGE}
    ORDER BY leads.number DESC
  ) l ON true
  ORDER BY asked.ord, l.number DESC`

/** Pages of leads, newest first, each for its own account. A page past the end is empty. */
export const listLeads =
  (deps: { database: Database }) =>
  async ({ pages }: ListLeadsRequest): Promise<ListLeadsResponse> => {
    // Beyond this page nothing can be, and further multiplication would leave the safe integers.
    const skipped = pages.map(
      ({ page }) => Math.min(page - 1, Number.MAX_SAFE_INTEGER / PER_PAGE / 2) * PER_PAGE,
    )
    const rows = await deps.database.query<ListedRow>({
      name: 'list-leads',
      text: SELECT_PAGES,
      values: [pages.map(({ accountId }) => accountId), skipped.map(Math.floor)],
    })
    const results = pages.map(() => ({ total: 0, items: [] as string[] }))
    for (const row of rows) {
      const result = results[row.ord - 1]!
      result.total = row.total
      if (row.id !== null) result.items.push(leadListItemJson(leadOfRow(row)))
    }
    return {
      results: results.map(({ total, items }) => ({
        items: Buffer.from(`[${items.join(',')}]`),
        count: items.length,
        total,
        perPage: PER_PAGE,
      })),
    }
  }
