import type { FindLeadsRequest, FindLeadsResponse } from '@leadwire/contracts'
import { encodeCursor } from '@leadwire/requests'
import { type RunningGateway, startGateway } from '../gateway.fixture'

let gateway: RunningGateway
let asked: FindLeadsRequest[]
let found: Partial<FindLeadsResponse>

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      findLeads: async (request) => {
        asked.push(request)
        return {
          items: Buffer.from('[{}]'),
          count: 1,
          total: 45,
          totalCapped: false,
          nextCursor: '9',
          ...found,
        }
      },
      listLeads: async ({ pages }) => ({
        results: pages.map(() => ({
          result: { $case: 'page', value: { items: Buffer.from('[]'), count: 0, total: 0, perPage: 20 } },
        })),
      }),
    },
  })
})
beforeEach(() => {
  asked = []
  found = {}
})
afterAll(() => gateway.stop())

const get = (query: string) => gateway.send({ url: `/leads?${query}` })

const askedBy = async (query: string) => {
  expect((await get(query)).statusCode).toBe(200)
  return asked.at(-1)!
}

test('a page has the fields of the interface, whether the total is capped, and a cursor', async () => {
  const page = (await get('status=open&per_page=10&page=2')).json()
  expect(Object.keys(page).slice(-2)).toEqual(['total_capped', 'next_cursor'])
  expect(page).toMatchObject({ current_page: 2, per_page: 10, last_page: 5, total: 45, total_capped: false })
  expect(page.next_cursor).toBe(encodeCursor('9'))
})

test('the addresses of pages keep what was asked for', async () => {
  const query = 'per_page=10&status=open&q=ada+byron&updated_since=2026-11-21T09%3A30%3A00Z&test=0'
  const page = (await get(query)).json()
  const kept = new URL(page.next_page_url).searchParams
  expect(Object.fromEntries(kept)).toEqual({
    per_page: '10',
    status: 'open',
    q: 'ada byron',
    updated_since: '2026-11-21T09:30:00Z',
    test: 'false',
    page: '2',
  })
  expect((await get(new URL(page.next_page_url).search.slice(1))).statusCode).toBe(200)
  expect(page.path).toBe('https://api.example.test/leads')
})

test('a response with a cursor has data and the next cursor', async () => {
  found = { total: undefined }
  expect((await get('cursor=')).body).toBe(`{"data":[{}],"next_cursor":"${encodeCursor('9')}"}`)
  expect(asked.at(-1)!.place).toEqual({ $case: 'cursor', value: '' })
  expect(await askedBy(`cursor=${encodeCursor('12')}`)).toMatchObject({
    place: { $case: 'cursor', value: '12' },
    perPage: 20,
  })
  found = { total: undefined, nextCursor: undefined }
  expect((await get(`cursor=${encodeCursor('12')}`)).json().next_cursor).toBeNull()
})

test.each([
  ['postcode=sw1a', { postcode: 'SW1A' }],
  ['postcode=sw1a1', { postcode: 'SW1A 1' }],
  ['postcode=sw1a1aa', { postcode: 'SW1A 1AA' }],
  ['postcode=m11', { postcode: 'M11' }],
  ['postcode=m11a', { postcode: 'M1 1A' }],
  ['postcode=m1%20%201', { postcode: 'M1 1' }],
  ['postcode=bfpo', { postcode: 'BFPO' }],
  ['postcode=bfpo61', { postcode: 'BFPO 61' }],
  ['postcode=fiqq1z', { postcode: 'FIQQ 1Z' }],
  ['postcode=gir0', { postcode: 'GIR 0' }],
  ['assigned_to=7', { assignedTo: 7 }],
  ['test=1', { test: true }],
  ['test=false', { test: false }],
  ['created_from=2026-11-21T09:30:00%2B01:00', { createdFrom: '2026-11-21T08:30:00Z' }],
  ['created_to=2026-11-21T09:30:00.1234567Z', { createdTo: '2026-11-21T09:30:00.123456Z' }],
  ['status=&referrer=Direct', { referrer: 'Direct', status: undefined }],
])('%s', async (query, filters) => {
  expect((await askedBy(query)).filters).toMatchObject(filters)
})

test('the newest come first, with updated_since the oldest change, unless a sort is given', async () => {
  expect((await askedBy('per_page=5')).sort).toBe('-created_at')
  expect((await askedBy('updated_since=2026-11-21T09:30:00Z')).sort).toBe('updated_at')
  expect((await askedBy('updated_since=2026-11-21T09:30:00Z&sort=-updated_at')).sort).toBe('-updated_at')
})

test.each([
  ['per_page=0', 'per_page'],
  ['per_page=101', 'per_page'],
  ['per_page=x', 'per_page'],
  ['status=new', 'status'],
  ['referrer=Radio', 'referrer'],
  ['sort=name', 'sort'],
  ['created_from=yesterday', 'created_from'],
  ['assigned_to=ada', 'assigned_to'],
  ['test=2', 'test'],
  ['q=%00', 'q'],
  ['cursor=&page=2', 'page'],
  ['status=open&state=open', 'state'],
  ['status=&state=open', 'state'],
  ['status[]=open&q=ada', 'status[]'],
  ['per_page=5&__proto__=1', '__proto__'],
])('%s is refused', async (query, field) => {
  const response = await get(query)
  expect(response.statusCode).toBe(422)
  expect(Object.keys(response.json().errors)).toEqual([field])
})

test.each([
  'created_from=2026-11-21T09:30:00+01:00',
  'created_to=2026-11-21T09:30:00.5+00:00',
  'updated_since=%202026-11-21T09:30:00+0100',
])('%s is told that its plus sign arrived as a space', async (query) => {
  const { errors } = (await get(query)).json()
  expect(Object.values(errors)).toEqual([
    [
      expect.stringMatching(
        /^The [a-z ]+ is not a valid date\. .* The "\+" arrived as a space\. Write it as %2B\.$/,
      ),
    ],
  ])
})

test('pages end where the total is capped, and the message names the cursor', async () => {
  found = { total: 10_000, totalCapped: true }
  expect((await get('status=open&page=500')).json()).toMatchObject({ total_capped: true, last_page: 500 })
  const response = await get('status=open&page=501')
  expect(response.statusCode).toBe(422)
  expect(response.json().errors.page[0]).toMatch(/cursor/)
})

test.each([
  'Status',
  'status[]',
  'status[0]',
  'status[eq]',
  'filter[status]',
  'filter',
  'since',
  'created_at[gte]',
  'createdFrom',
  'createdfrom',
  'updated-since',
  'assignedTo',
  'sort_by',
  'perPage',
  'perpage',
  'page[size]',
  'page[number]',
  '_status',
])('%s means one of ours, and is refused', async (name) => {
  const response = await get(`page=1&${encodeURIComponent(name)}=open`)
  expect(response.statusCode).toBe(422)
  expect(response.json().errors).toEqual({
    [name]: [
      expect.stringMatching(
        `The parameter "${name.replace(/[[\]]/g, '.')}" is not allowed. Allowed parameters: page, per_page, status`,
      ),
    ],
  })
  expect(asked).toEqual([])
})

test('every error of a query is reported at once', async () => {
  const response = await get('status=open&status=lost&page=1&page=2&_=1&referrer=Radio&q=%00&cursor=')
  expect(response.json().errors).toEqual({
    status: ['Send the parameter status only once.'],
    page: ['Send the parameter page only once.', 'Send either page or cursor, not both.'],
    _: [expect.stringContaining('The parameter "_" is not allowed.')],
    referrer: [expect.any(String)],
    q: [expect.any(String)],
  })
})

test('without a parameter of ours the list is the interface’s, whatever else the query has', async () => {
  const page = (await get('page=1&page[]=2&state=open&state=lost&_=1&utm_source=x&pages=2')).json()
  expect(asked).toEqual([])
  expect(Object.keys(page)).not.toContain('total_capped')
})

const getManaged = (query: string) => gateway.send({ url: `/manage/leads?${query}` })

test.each<[string, FindLeadsRequest['filters']]>([
  ['', {}],
  ['user_id=7&status=open', { assignedTo: 7, status: 'open' }],
  ['user_id=none', { unassigned: true }],
  ['due=overdue', { dueTo: expect.any(String) }],
  ['due=today', { dueFrom: expect.any(String), dueTo: expect.any(String) }],
  ['due=week', { dueFrom: expect.any(String), dueTo: expect.any(String) }],
])('the list for people, %s', async (query, filters) => {
  expect((await getManaged(query)).json()).toMatchObject({ data: [{}], total: 45, per_page: 20 })
  const { filters: given, managed, sort } = asked.at(-1)!
  expect({ ...given, managed, sort }).toEqual({ ...filters, managed: true, sort: '-created_at' })
})

test.each([
  ['user_id=0', 'user_id'],
  ['user_id=ada', 'user_id'],
  ['assigned_to=7', 'assigned_to'],
  ['due=tomorrow', 'due'],
  ['unknown=1', 'unknown'],
])('the list for people, %s is refused', async (query, field) => {
  const response = await getManaged(query)
  expect([response.statusCode, Object.keys(response.json().errors)]).toEqual([422, [field]])
})

test('the list for people keeps its filters in the addresses of pages', async () => {
  const page = (await getManaged('due=overdue&user_id=none')).json()
  expect(page.next_page_url).toBe('https://api.example.test/manage/leads?user_id=none&due=overdue&page=2')
})
