import {
  type LeadPage,
  type LeadPageResult,
  type ListedLeads,
  type ListLeadsRequest,
  type ListLeadsResponse,
  leadItemJson,
} from '@leadwire/contracts'
import { type Database, ServiceError, statusOf, type Transaction } from '@leadwire/service-kit'
import { errorsOf, invalidBy, isId } from '../../arguments'
import type { Row } from '../../database/row-mapper'
import { LEAD } from '../read/lead-rows'
import { deadlineOf, unlessTimedOut } from '../read/unless-timed-out'

const PER_PAGE = 20

interface ListedRow {
  ord: number
  total: number
  count: number
  items: string | null
}

// The total is the highest number, so page N is the range of numbers total-20N+1 … total-20(N-1): an index range scan
// that costs the same at any depth. `items` is null where an item of the page was made in another format than asked for.
const SELECT_PAGES = `
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

const SELECT_COLUMNS = `
  SELECT ${LEAD.columns} FROM leads l
  WHERE l.account_id = $1 AND l.number <= $2 AND l.number > $2 - ${PER_PAGE} ORDER BY l.number DESC`

// Beyond this page nothing can be, and further multiplication would leave the safe integers.
const skippedBy = ({ page }: LeadPage) =>
  Math.floor(Math.min(page - 1, Number.MAX_SAFE_INTEGER / PER_PAGE / 2) * PER_PAGE)

const itemsFromColumns = async (db: Transaction, accountId: number, newest: number): Promise<string> => {
  const rows = await db.query<Row>({
    name: 'list-leads-from-columns',
    text: SELECT_COLUMNS,
    values: [accountId, newest],
  })
  return rows.map((row) => leadItemJson(LEAD.read(row))).join(',')
}

const loadPages = async (db: Transaction, pages: LeadPage[], jsonFormat: number): Promise<ListedLeads[]> => {
  const rows = await db.query<ListedRow>({
    name: 'list-leads',
    text: SELECT_PAGES,
    values: [pages.map(({ accountId }) => accountId), pages.map(skippedBy), jsonFormat],
  })
  const listed = pages.map(() => ({ items: Buffer.from('[]'), count: 0, total: 0, perPage: PER_PAGE }))
  for (const { ord, total, count, items } of rows) {
    const page = pages[ord - 1]!
    const made = items ?? (await itemsFromColumns(db, page.accountId, total - skippedBy(page)))
    listed[ord - 1] = { items: Buffer.from(`[${made}]`), count, total, perPage: PER_PAGE }
  }
  return listed
}

const resultOf = ({ accountId, page }: LeadPage, listed: ListedLeads | ServiceError): LeadPageResult => {
  const result = invalidBy(errorsOf({ account_id: isId(accountId), page: page >= 1 })) ?? listed
  return {
    result:
      result instanceof ServiceError
        ? { $case: 'failure', value: statusOf(result) }
        : { $case: 'page', value: result },
  }
}

/** Pages of leads, newest first, each for its own account. A page past the end is empty. */
export const listLeads =
  ({ database, jsonFormat }: { database: Database; jsonFormat: number }) =>
  async ({ pages }: ListLeadsRequest): Promise<ListLeadsResponse> => {
    const deadlines = pages.map(deadlineOf)
    const listed = await database.connection((db) =>
      unlessTimedOut(pages, deadlines, (inTime) => loadPages(db, inTime, jsonFormat)),
    )
    return { results: listed.map((page, index) => resultOf(pages[index]!, page)) }
  }
