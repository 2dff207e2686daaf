import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { SELECT_LEAD, SELECT_PAGE } from './lead-queries'
import { type LeadRow, pickFields, type Row, renderLead } from './render-lead'

type PageRow = Row & { lead_count: number }

/** Adds GET /leads/:reference and GET /leads, with one query each. */
export const addReadRoutes = (
  app: FastifyInstance,
  { pool, assetsUrl }: { pool: pg.Pool; assetsUrl: string },
): void => {
  app.get<{ Params: { reference: string } }>('/leads/:reference', async (request, reply) => {
    const values = [request.accountId, request.params.reference, `${assetsUrl}/`]
    const { rows } = await pool.query<LeadRow>({ name: 'lead', text: SELECT_LEAD, values })
    if (!rows[0]) return reply.code(404).send()
    return reply.type('application/json; charset=utf-8').send(renderLead(rows[0]))
  })
  app.get<{ Querystring: { page?: string } }>('/leads', async (request) => {
    const page = Number(request.query.page ?? 1)
    const values = [request.accountId, (page - 1) * 20]
    const { rows } = await pool.query<PageRow>({ name: 'page', text: SELECT_PAGE, values })
    return buildPage(page, rows)
  })
}

const buildPage = (page: number, rows: PageRow[]) => {
  const total = rows[0]?.lead_count ?? 0
  const lastPage = Math.max(1, Math.ceil(total / 20))
  const first = (page - 1) * 20 + 1
  return {
    current_page: page,
    data: rows.map(pickFields),
    first_page_url: '?page=1',
    from: rows.length > 0 ? first : null,
    last_page: lastPage,
    last_page_url: `?page=${lastPage}`,
    next_page_url: page < lastPage ? `?page=${page + 1}` : null,
    path: '',
    per_page: 20,
    prev_page_url: page > 1 ? `?page=${page - 1}` : null,
    to: rows.length > 0 ? first + rows.length - 1 : null,
    total,
  }
}
