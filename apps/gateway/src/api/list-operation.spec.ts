import { encodeCursor } from '@leadwire/requests'
import { type RunningGateway, retrieveAllBut, startGateway } from '../gateway.fixture'

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const MISSING = '00000000-0000-4000-8000-000000000000'

let gateway: RunningGateway
let asked: object[]

const answer = async (request: { before?: number | undefined }) => {
  asked.push(request)
  return {
    items: Buffer.from('[{"id":8},{"id":7}]'),
    nextBefore: request.before === undefined ? 7 : undefined,
  }
}

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      listAppointments: answer,
      listCallbacks: answer,
      retrieveLeads: retrieveAllBut(MISSING),
    },
    attachments: { listAttachments: answer },
  })
})
beforeEach(() => {
  asked = []
})
afterAll(() => gateway.stop())

test('a page without deliveries has numbers for a token of one endpoint that asks for another', async () => {
  const response = await get('/manage/deliveries?endpoint_id=6', 'endpoint')
  const path = 'https://api.example.test/manage/deliveries'
  expect([response.statusCode, response.json()]).toEqual([
    200,
    {
      current_page: 1,
      data: [],
      from: null,
      to: null,
      total: 0,
      total_capped: false,
      per_page: 20,
      path,
      first_page_url: `${path}?endpoint_id=6&page=1`,
      last_page_url: `${path}?endpoint_id=6&page=1`,
      last_page: 1,
      next_page_url: null,
      prev_page_url: null,
      next_cursor: null,
    },
  ])
})

const get = (url: string, token = 'read') =>
  gateway.send({ url, headers: { authorization: `Bearer ${token}` } })

describe.each([
  ['appointments', {}],
  ['callbacks', {}],
  ['attachments', { baseUrl: 'https://api.example.test' }],
])('%s', (what, also) => {
  const path = `/leads/${REFERENCE}/${what}`

  test('are listed for a token that may read leads, and cursors lead to the end', async () => {
    const first = await get(`/leads/${REFERENCE.toUpperCase()}/${what}`)
    expect([first.statusCode, first.headers['content-type']]).toEqual([
      200,
      'application/json; charset=utf-8',
    ])
    expect(first.json()).toEqual({ data: [{ id: 8 }, { id: 7 }], next_cursor: expect.any(String) })
    const second = await get(`${path}?cursor=${encodeURIComponent(first.json().next_cursor)}`)
    expect(second.json()).toEqual({ data: [{ id: 8 }, { id: 7 }], next_cursor: null })
    expect(asked).toEqual([
      { accountId: 3, reference: REFERENCE, ...also },
      { accountId: 3, reference: REFERENCE, before: 7, ...also },
    ])
  })

  test.each(['?cursor=', '?cursor=%20', ''])('with the query "%s" begin with the newest', async (query) => {
    expect((await get(`${path}${query}`)).statusCode).toBe(200)
    expect(asked).toEqual([{ accountId: 3, reference: REFERENCE, ...also }])
  })

  test.each([
    '0',
    '-1',
    '01',
    '7.5',
    '1e3',
    'x',
    'null',
    '7%00',
    '9007199254740992',
    '7&cursor=8',
  ])('with the cursor %s are a 422 that names it', async (cursor) => {
    for (const given of [cursor, encodeCursor(cursor)]) {
      const response = await get(`${path}?cursor=${given}`)
      expect([response.statusCode, Object.keys(response.json().errors)]).toEqual([422, ['cursor']])
    }
    expect(asked).toEqual([])
  })

  test('of a missing lead are a 404 whatever the cursor is', async () => {
    expect((await get(`/leads/${MISSING}/${what}?cursor=x`)).statusCode).toBe(404)
    expect((await get(`/leads/x/${what}?cursor=x`)).statusCode).toBe(404)
    expect(asked).toEqual([])
  })

  test('need the scope', async () => {
    expect((await get(path, 'manage')).statusCode).toBe(403)
    expect((await get(path, 'leads')).statusCode).toBe(200)
  })
})
