import type {
  CreateLead,
  UpdateLeadsInBulkRequest,
  UpdateManagedLeadRequest,
  UpsertLeadRequest,
  WriteLeadBatchRequest,
} from '@leadwire/contracts'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const LEAD = {
  name: 'Windows',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Direct',
  status: 'open',
}

let gateway: RunningGateway
let asked: UpsertLeadRequest[]
let created: CreateLead[]
let batches: WriteLeadBatchRequest[]
let updates: UpdateManagedLeadRequest[]
let bulks: UpdateLeadsInBulkRequest[]
beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      createLeads: async ({ leads }) => {
        created.push(...leads)
        const result = { $case: 'body', value: Buffer.from('{"data":{}}') } as const
        return { results: leads.map(() => ({ result, etag: '"2-1"', created: true })) }
      },
      upsertLead: async (request) => {
        asked.push(request)
        return { body: Buffer.from('{"data":{}}'), etag: '"2-1"', created: false, replayed: false }
      },
      updateManagedLead: async (request) => {
        updates.push(request)
        return { body: Buffer.from('{"data":{}}'), etag: '"3-1"' }
      },
      updateLeadsInBulk: async (request) => {
        bulks.push(request)
        return { body: Buffer.from('{"data":[]}') }
      },
      retrieveLeads: async ({ leads }) => {
        const result = { $case: 'body', value: Buffer.from('{"data":{}}') } as const
        return { results: leads.map(() => ({ result, etag: '"2-1"' })) }
      },
    },
    imports: {
      writeLeadBatch: async (request) => {
        batches.push(request)
        return { body: Buffer.from('{"data":[]}') }
      },
    },
  })
})
beforeEach(() => {
  asked = []
  created = []
  batches = []
  updates = []
  bulks = []
})
afterAll(() => gateway.stop())

const put = (id: string, payload: object) =>
  gateway.send({ method: 'PUT', url: `/manage/leads/external/${id}`, payload })

test('what is given is named, and null stands for what a new lead would have', async () => {
  const given = {
    status: 'sold',
    value: null,
    description: null,
    test: null,
    quotes: null,
    user_agent: 'V/1',
  }
  const response = await put('crm%2F1%20', {
    ...given,
    attributes: { a: ' x ', b: '', c: null, d: 1 },
    unknown: 1,
  })
  expect(response.json()).toEqual({ data: {}, created: false })
  expect(response.headers['etag']).toBe('"2-1"')
  expect(asked[0]!.lead).toMatchObject({
    externalId: 'crm/1',
    status: 'sold',
    value: 0,
    description: undefined,
    test: false,
    quotes: [],
    userAgent: 'V/1',
    name: '',
    attributes: '{"a":"x","b":null,"c":null,"d":1}',
    upsert: { given: [...Object.keys(given), 'attributes', 'external_id'] },
  })
})

test.each([
  ['crm-1', { name: null }, { name: ['The name field is required.'] }],
  ['crm-1', { value: -1, email: ' ' }, { value: expect.anything(), email: expect.anything() }],
  ['%20', LEAD, { external_id: ['The external id field is required.'] }],
  ['x'.repeat(256), LEAD, { external_id: ['The external id may not be greater than 255 characters.'] }],
  ['crm-1', { attributes: { A: 1 } }, { attributes: ['The attributes has a key that is not allowed: A.'] }],
  ['crm-1', { attributes: 'x' }, { attributes: ['The attributes must be an object.'] }],
])('%s %j is refused', async (id, payload, errors) => {
  const response = await put(id, payload)
  expect([response.statusCode, response.json().errors]).toEqual([422, errors])
  expect(asked).toEqual([])
})

test('a lead of its own has no upsert, and may have attributes and an external id', async () => {
  const payload = { ...LEAD, external_id: 'a', attributes: { utm_source: 'x' } }
  await gateway.send({ method: 'POST', url: '/manage/leads', payload })
  expect(asked[0]!.lead).toMatchObject({
    externalId: 'a',
    attributes: '{"utm_source":"x"}',
    upsert: undefined,
  })
  await gateway.send({ method: 'POST', url: '/leads', payload: { ...payload, referrer: 'Website' } })
  expect(created[0]!.lead).toMatchObject({ externalId: undefined, attributes: undefined })
})

test('rows of a batch keep the text of their options, and their errors', async () => {
  const item = (options: string) =>
    `{"product_style_id":1,"name":"I","price":1,"image_id":5,"options":${options},
      "product_style":{"sku":"s","name":"n","product":{"name":"p"}}}`
  const row = (options: string) =>
    `${JSON.stringify(LEAD).slice(0, -1)},"quotes":[{"items":[${item(options)}]}]}`
  const payload = `{"leads":[${row('{"b":1.50,"1":2}')},{"external_id":"a"},${row('{"z":1e3}')},[]]}`
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' }
  await gateway.send({ method: 'POST', url: '/manage/leads/batch', payload, headers })
  const { rows, idempotency, accountId } = batches[0]!
  expect({ accountId, key: idempotency!.key }).toEqual({ accountId: 3, key: 'k' })
  const readOptions = (index: number) => {
    const { row } = rows[index]!
    return row?.$case === 'lead' ? row.value.quotes[0]!.items[0]!.options : undefined
  }
  expect([readOptions(0), readOptions(2)]).toEqual(['{"b":1.50,"1":2}', '{"z":1e3}'])
  expect(rows[1]!.row).toMatchObject({ $case: 'lead', value: { upsert: { given: ['external_id'] } } })
  expect(rows[3]!.row).toEqual({ $case: 'errors', value: '{"row":["The lead must be an object."]}' })
})

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'

const patch = (payload: object, headers: Record<string, string> = {}) =>
  gateway.send({ method: 'PATCH', url: `/manage/leads/${REFERENCE}`, payload, headers })

test('a change names what it gives, and null clears what may be null', async () => {
  const given = { last_name: 'King', mobile: null, user_id: null, external_id: null, value: null, quotes: [] }
  const response = await patch({ ...given, unknown: 1 }, { 'if-match': '"2-1"' })
  expect([response.statusCode, response.headers['etag']]).toEqual([200, '"3-1"'])
  expect(updates[0]).toMatchObject({
    accountId: 3,
    reference: REFERENCE,
    lead: {
      lastName: 'King',
      mobile: undefined,
      userId: undefined,
      externalId: undefined,
      value: 0,
      upsert: { given: Object.keys(given), ifMatch: { etags: ['"2-1"'] } },
    },
  })
})

test.each([
  [
    { name: null, ip: null },
    { name: ['The name field is required.'], ip: ['The ip field is required.'] },
  ],
  [
    { test: false, email: 'x' },
    { test: [expect.stringContaining('cannot be changed')], email: expect.anything() },
  ],
  [{ external_id: 'x'.repeat(256) }, { external_id: [expect.stringContaining('255')] }],
])('a change with %j is refused', async (payload, errors) => {
  const response = await patch(payload)
  expect([response.statusCode, response.json().errors]).toEqual([422, errors])
  expect(updates).toEqual([])
})

const bulk = (payload: object) => gateway.send({ method: 'POST', url: '/manage/leads/bulk', payload })

test('a bulk sets what it gives for each lead', async () => {
  const set = { user_id: null, attributes: { a: ' x ', b: null } }
  expect((await bulk({ references: [REFERENCE.toUpperCase()], set })).json()).toEqual({ data: [] })
  expect(bulks[0]).toMatchObject({
    accountId: 3,
    references: [REFERENCE],
    lead: {
      userId: undefined,
      attributes: '{"a":"x","b":null}',
      upsert: { given: ['user_id', 'attributes'], ifMatch: undefined },
    },
  })
})

test.each([
  [{ references: [REFERENCE], set: { status: 'won' } }, ['set.status']],
  [{ references: [REFERENCE], set: { status: 'lost', value: 1 } }, ['set.value']],
  [{ references: [REFERENCE], set: { attributes: { A: 1 } } }, ['set.attributes']],
  [{ references: [REFERENCE], set: {} }, ['set']],
  [{ references: [REFERENCE] }, ['set']],
  [{ references: Array(101).fill(REFERENCE), set: { status: 'lost' } }, ['references']],
])('a bulk is refused: %#', async (payload, fields) => {
  const response = await bulk(payload)
  expect([response.statusCode, Object.keys(response.json().errors)]).toEqual([422, fields])
  expect(bulks).toEqual([])
})
