import { type RunningGateway, startGateway } from '../gateway.fixture'

let gateway: RunningGateway
let total: number
let pages: number[]

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      listLeads: async ({ pages: asked }) => ({
        results: asked.map(({ page }) => {
          pages.push(page)
          const count = Math.max(0, Math.min(20, total - (page - 1) * 20))
          const items = Buffer.from(`[${Array(count).fill('{}').join(',')}]`)
          return { result: { $case: 'page', value: { items, count, total, perPage: 20 } } }
        }),
      }),
    },
  })
})
beforeEach(() => {
  pages = []
  total = 45
})
afterAll(() => gateway.stop())

const list = async (query: string) => (await gateway.send({ url: `/leads${query}` })).json()

const url = (page: number) => `https://api.example.test/leads?page=${page}`

test('the fields stand in the order of the interface', async () => {
  expect(Object.keys(await list(''))).toEqual([
    'current_page',
    'data',
    'first_page_url',
    'from',
    'last_page',
    'last_page_url',
    'next_page_url',
    'path',
    'per_page',
    'prev_page_url',
    'to',
    'total',
  ])
})

const whole = {
  first_page_url: url(1),
  last_page: 3,
  last_page_url: url(3),
  path: 'https://api.example.test/leads',
  per_page: 20,
  total: 45,
}

test.each([
  ['', { current_page: 1, from: 1, to: 20, prev_page_url: null, next_page_url: url(2) }],
  ['?page=2', { current_page: 2, from: 21, to: 40, prev_page_url: url(1), next_page_url: url(3) }],
  ['?page=3', { current_page: 3, from: 41, to: 45, prev_page_url: url(2), next_page_url: null }],
  [
    '?page=9',
    { current_page: 9, data: [], from: null, to: null, prev_page_url: url(8), next_page_url: null },
  ],
])('page %j', async (query, expected) => {
  expect(await list(query)).toMatchObject({ ...whole, ...expected })
})

test('without leads there is one empty page', async () => {
  total = 0
  expect(await list('')).toMatchObject({
    data: [],
    from: null,
    to: null,
    last_page: 1,
    last_page_url: url(1),
    next_page_url: null,
    prev_page_url: null,
    total: 0,
  })
})

test.each([
  '0',
  '-1',
  '1.5',
  'x',
  '',
  '+2',
  '2x',
  '0x2',
  '1e1',
  '9007199254740992',
  '99999999999999999999',
  '%00',
  '٣',
])('page=%s is page 1', async (page) => {
  expect((await list(`?page=${page}`)).current_page).toBe(1)
  expect(pages).toEqual([1])
})

test('a repeated page, and one of another shape, is page 1', async () => {
  expect((await list('?page=2&page=3')).current_page).toBe(1)
  expect((await list('?page[]=2')).current_page).toBe(1)
})

test('the largest page number is a page past the end', async () => {
  expect(await list('?page=9007199254740991')).toMatchObject({
    current_page: 9007199254740991,
    data: [],
    from: null,
  })
})
