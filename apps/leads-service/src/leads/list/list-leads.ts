import type { LeadPage, LeadPageResult, ListedLeads, ListLeadsRequest } from '@leadwire/contracts'
import {
  findDeadline,
  type RunInTurn,
  ServiceError,
  statement,
  type Transaction,
  toRpcStatus,
  unlessTimedOut,
} from '@leadwire/service-kit'
import { loadLeadItems } from '../read/lead-rows'

const PER_PAGE = 20

type ListedRow = { ord: number; total: number; count: number; items: string | null }

// The total is the highest number, so page N is the range of numbers total-20N+1 … total-20(N-1): an index
// range scan that costs the same at any depth. `items` is null if the stored JSON of any lead of the page has
// another format than $3.
const selectPages = statement<ListedRow>('list-leads')`
  SELECT asked.ord::int, a.lead_count AS total, page.count, page.items
  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS asked (account_id, skipped, ord)
  JOIN accounts a ON a.id = asked.account_id
  CROSS JOIN LATERAL (
    SELECT count(*)::int, CASE WHEN coalesce(bool_and(l.json_format = $3), true)
      THEN coalesce(string_agg(l.json, ',' ORDER BY l.number DESC), '') END AS items
    FROM leads l
    WHERE l.account_id = asked.account_id
      AND l.number <= a.lead_count - asked.skipped
      AND l.number > a.lead_count - asked.skipped - ${PER_PAGE}
  ) page`

// Limits the page number, because a larger page number times PER_PAGE might not be a safe integer. No account
// has that many pages.
const countSkipped = ({ page }: LeadPage) =>
  Math.floor(Math.min(page - 1, Number.MAX_SAFE_INTEGER / PER_PAGE / 2) * PER_PAGE)

const loadPages = async (db: Transaction, pages: LeadPage[], jsonFormat: number): Promise<ListedLeads[]> => {
  const accountIds = pages.map(({ accountId }) => accountId)
  const rows = await selectPages(db, accountIds, pages.map(countSkipped), jsonFormat)
  const none = { items: Buffer.from('[]'), count: 0, total: 0, perPage: PER_PAGE }
  const listed: ListedLeads[] = pages.map(() => none)
  for (const { ord, total, count, items } of rows) {
    const page = pages[ord - 1]!
    const { accountId } = page
    const numbers = Array.from({ length: count }, (_, index) => total - countSkipped(page) - index)
    const load = () => loadLeadItems(db, { accountId, numbers, jsonFormat })
    const made = items === null ? await load() : Buffer.from(`[${items}]`)
    listed[ord - 1] = { items: made, count, total, perPage: PER_PAGE }
  }
  return listed
}

/** Lists pages of leads, newest first. Each page may be of another account. A page past the end is empty. */
export const listLeads =
  ({ database, jsonFormat }: { database: Transaction; jsonFormat: number }, runInTurn: RunInTurn) =>
  async ({ pages }: ListLeadsRequest): Promise<{ results: LeadPageResult[] }> => {
    const deadlines = pages.map(findDeadline)
    const listed = await runInTurn(pages[0]?.accountId ?? 0, () =>
      unlessTimedOut(pages, deadlines, (inTime) => loadPages(database, inTime, jsonFormat)),
    )
    const results = listed.map(
      (outcome): LeadPageResult =>
        outcome instanceof ServiceError
          ? { result: { $case: 'failure', value: toRpcStatus(outcome) } }
          : { result: { $case: 'page', value: outcome } },
    )
    return { results }
  }
