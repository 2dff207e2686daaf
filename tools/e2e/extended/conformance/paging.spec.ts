import { eventually } from '@leadwire/test-kit'
import { joinStage, type Lead, type SharedStage, type Tenant } from '../../support/stage'

type Page = { data: Lead[]; [field: string]: unknown }

let stage: SharedStage
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())

const withLeads = async (count: number): Promise<Tenant> => {
  const tenant = await stage.newTenant()
  for (let i = 0; i < count; i++) await tenant.createLead({ name: `Lead ${i + 1}` })
  return tenant
}

const readPage = async (tenant: Tenant, query = ''): Promise<Page> => {
  const answer = await tenant.client.request<Page>('GET', `/leads${query}`)
  expect(answer.status).toBe(200)
  return answer.json
}

/** Replaces the leads of a page with the numbers in their names. */
const described = ({ data, ...rest }: Page) => ({
  ...rest,
  data: data.map(({ name }) => Number(String(name).slice('Lead '.length))),
})

const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, i) => from - i)

const expected = (page: number, lastPage: number, total: number, rows: number[]) => {
  const path = `${stage.system.baseUrl}/leads`
  const first = (page - 1) * 20 + 1
  return {
    current_page: page,
    data: rows,
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

test.each([
  [0, 1, [[]]],
  [1, 1, [[1]]],
  [20, 1, [down(20, 1)]],
  [21, 2, [down(21, 2), [1]]],
  [45, 3, [down(45, 26), down(25, 6), down(5, 1)]],
])('%i leads are %i page(s)', async (count, lastPage, pages) => {
  const tenant = await withLeads(count)
  for (const [index, rows] of pages.entries()) {
    const page = index + 1
    expect(described(await readPage(tenant, `?page=${page}`))).toEqual(expected(page, lastPage, count, rows))
  }
  expect(described(await readPage(tenant))).toEqual(expected(1, lastPage, count, pages[0]!))
  for (const past of [lastPage + 1, lastPage + 7, Number.MAX_SAFE_INTEGER])
    expect(described(await readPage(tenant, `?page=${past}`))).toEqual(expected(past, lastPage, count, []))
})

describe('with 21 leads', () => {
  let tenant: Tenant
  beforeAll(async () => {
    tenant = await withLeads(21)
  })

  test.each([
    '?page=0',
    '?page=-1',
    '?page=1.5',
    '?page=2.0',
    '?page=abc',
    '?page=',
    '?page',
    '?page=2x',
    '?page=0x2',
    '?page=2e0',
    '?page=9007199254740992',
    '?page=99999999999999999999999999',
    '?page[]=2',
    '?page=null',
    '?page=%00',
    '?page=NaN',
    '?pages=5',
    '?unknown=1',
  ])('%s is page 1', async (query) => {
    expect(described(await readPage(tenant, query))).toEqual(expected(1, 2, 21, down(21, 2)))
  })

  test('with a parameter beyond the interface the page has additional fields', async () => {
    const { next_cursor, total_capped, ...page } = await readPage(tenant, '?page=2&per_page=5')
    expect({ next_cursor, total_capped }).toEqual({ next_cursor: expect.any(String), total_capped: false })
    expect(Object.keys(page)).toEqual(Object.keys(await readPage(tenant)))
  })

  test.each([
    'status=open',
    'referrer=Website',
    'test=0',
    'q=lead',
    'sort=updated_at',
    'created_from=2001-01-01T00:00:00Z',
  ])('a walk with %s shows each lead once', async (filter) => {
    const walk = async () => {
      const seen: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = `?${filter}&per_page=4&cursor=${encodeURIComponent(cursor)}`
        const step: Page = await readPage(tenant, query)
        seen.push(...step.data.map(({ reference }) => reference))
        cursor = step['next_cursor'] as string | null
      }
      return seen
    }
    // Retries, because leads-service stores the search terms a moment after the commit of a lead.
    await eventually(async () => expect(new Set(await walk()).size).toBe(21))
    expect(await walk()).toHaveLength(21)
  })
})

test('concurrently created leads have the same order by id, time and position', async () => {
  const tenant = await stage.newTenant()
  await Promise.all(Array.from({ length: 60 }, () => tenant.createLead()))
  const rows = (await Promise.all([1, 2, 3].map((page) => readPage(tenant, `?page=${page}`)))).flatMap(
    ({ data }) => data,
  )
  expect(rows).toHaveLength(60)
  expect(new Set(rows.map(({ reference }) => reference)).size).toBe(60)
  const falls = (values: (string | number)[]) =>
    values.every((value, i) => i === 0 || value <= values[i - 1]!)
  expect(falls(rows.map(({ id }) => id))).toBe(true)
  expect(falls(rows.map(({ created_at }) => created_at))).toBe(true)
})
