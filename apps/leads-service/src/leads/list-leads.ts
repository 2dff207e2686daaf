import type {
  LeadPage,
  LeadPageResult,
  ListedLeads,
  ListLeadsRequest,
  ListLeadsResponse,
} from '@leadwire/contracts'
import {
  type Database,
  deadlineOf,
  ServiceError,
  statusOf,
  type Transaction,
  unlessLate,
} from '@leadwire/service-kit'
import { faultsOf, isId } from '../arguments'

const PER_PAGE = 20

interface ListedRow {
  ord: number
  total: number
  count: number
  items: string
}

// The total is the highest number, so page N is the range of numbers total-20N+1 … total-20(N-1): an index range scan
// that costs the same at any depth. Items are finished pieces (schema/json-head.ts): putting them together is all.
const SELECT_PAGES = `
  SELECT asked.ord::int, a.lead_count AS total, page.count, page.items
  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS asked (account_id, skipped, ord)
  JOIN accounts a ON a.id = asked.account_id
  CROSS JOIN LATERAL (
    SELECT count(*)::int, coalesce(string_agg(l.json_head, '},' ORDER BY l.number DESC) || '}', '') AS items
    FROM leads l
    WHERE l.account_id = asked.account_id
      AND l.number <= a.lead_count - asked.skipped
      AND l.number > a.lead_count - asked.skipped - ${PER_PAGE}
  ) page`

const loadPages = async (db: Transaction, pages: LeadPage[]): Promise<ListedLeads[]> => {
  // Beyond this page nothing can be, and further multiplication would leave the safe integers.
  const skipped = pages.map(
    ({ page }) => Math.min(page - 1, Number.MAX_SAFE_INTEGER / PER_PAGE / 2) * PER_PAGE,
  )
  const rows = await db.query<ListedRow>({
    name: 'list-leads',
    text: SELECT_PAGES,
    values: [pages.map(({ accountId }) => accountId), skipped.map(Math.floor)],
  })
  const listed = pages.map(() => ({ items: Buffer.from('[]'), count: 0, total: 0, perPage: PER_PAGE }))
  for (const { ord, total, count, items } of rows) {
    listed[ord - 1] = { items: Buffer.from(`[${items}]`), count, total, perPage: PER_PAGE }
  }
  return listed
}

const resultOf = ({ accountId, page }: LeadPage, listed: ListedLeads | ServiceError): LeadPageResult => {
  const faults = faultsOf({ account_id: isId(accountId), page: page >= 1 })
  const result = Object.keys(faults).length > 0 ? ServiceError.invalid(faults) : listed
  return {
    result:
      result instanceof ServiceError
        ? { $case: 'failure', value: statusOf(result) }
        : { $case: 'page', value: result },
  }
}

/** Pages of leads, newest first, each for its own account. A page past the end is empty. */
export const listLeads =
  ({ database }: { database: Database }) =>
  async ({ pages }: ListLeadsRequest): Promise<ListLeadsResponse> => {
    const deadlines = pages.map(deadlineOf)
    const listed = await database.connection((db) =>
      unlessLate(pages, deadlines, (items) => loadPages(db, items)),
    )
    return {
      results: listed.map((page, index) => resultOf(pages[index]!, page)),
    }
  }
