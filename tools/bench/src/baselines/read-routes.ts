import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { SELECT_LEAD, SELECT_PAGE } from './lead-queries'

type Row = Record<string, unknown>
type LeadRow = Row & { quotes: string }
type PageRow = Row & { lead_count: number }

/** GET /leads/:reference and GET /leads, one query each. */
export function addReadRoutes(
  app: FastifyInstance,
  { pool, assetsUrl, path }: { pool: pg.Pool; assetsUrl: string; path: string },
): void {
  app.get<{ Params: { reference: string } }>('/leads/:reference', async (request, reply) => {
    const values = [request.accountId, request.params.reference, `${assetsUrl}/`]
    const { rows } = await pool.query<LeadRow>({ name: 'lead', text: SELECT_LEAD, values })
    if (!rows[0]) return reply.code(404).send()
    return reply.type('application/json; charset=utf-8').send(leadJson(rows[0]))
  })
  app.get<{ Querystring: { page?: string } }>('/leads', async (request) => {
    const page = Number(request.query.page ?? 1)
    const values = [request.accountId, (page - 1) * 20]
    const { rows } = await pool.query<PageRow>({ name: 'page', text: SELECT_PAGE, values })
    return pageOf(page, rows, path)
  })
}

/** The answer with one lead, from a row as it is selected. */
export function leadJson({ quotes, ...row }: LeadRow): string {
  const customer = {
    id: row['c_id'],
    first_name: row['first_name'],
    last_name: row['last_name'],
    name: `${row['first_name']} ${row['last_name']}`,
    company_name: row['company_name'],
    email: row['email'],
    phone: row['phone'],
    phone_link: row['phone_link'],
    mobile: row['mobile'],
    mobile_link: row['mobile_link'],
    address_1: row['address_1'],
    address_2: row['address_2'],
    city: row['city'],
    county: row['county'],
    postcode: row['c_postcode'],
    avatar_url: row['avatar_url'],
    created_at: row['c_created_at'],
  }
  const lead = JSON.stringify({ ...leadFields(row), customer })
  return `{"data":${lead.slice(0, -1)},"quotes":${quotes}}}`
}

const leadFields = (row: Row) => ({
  id: row['id'],
  reference: row['reference'],
  name: row['name'],
  value: row['value'],
  description: row['description'],
  postcode: row['postcode'],
  user_agent: row['user_agent'],
  ip: row['ip'],
  referrer: row['referrer'],
  referrer_url: row['referrer_url'],
  device_type: row['device_type'],
  device_name: row['device_name'],
  browser: row['browser'],
  browser_version: row['browser_version'],
  os: row['os'],
  os_version: row['os_version'],
  status: row['status'],
  type: row['type'],
  test: row['test'],
  created_at: row['created_at'],
  updated_at: row['updated_at'],
})

function pageOf(page: number, rows: PageRow[], path: string) {
  const total = rows[0]?.lead_count ?? 0
  const lastPage = Math.max(1, Math.ceil(total / 20))
  const first = (page - 1) * 20 + 1
  return {
    current_page: page,
    data: rows.map(leadFields),
    first_page_url: `${path}?page=1`,
    from: rows.length > 0 ? first : null,
    last_page: lastPage,
    last_page_url: `${path}?page=${lastPage}`,
    next_page_url: page < lastPage ? `${path}?page=${page + 1}` : null,
    path,
    per_page: 20,
    prev_page_url: page > 1 ? `${path}?page=${page - 1}` : null,
    to: rows.length > 0 ? first + rows.length - 1 : null,
    total,
  }
}
