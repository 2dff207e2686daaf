import { randomUUID } from 'node:crypto'
import {
  createLead,
  createVisitorLead,
  OPERATIONS,
  type Operation,
  scheduleAppointment,
  scheduleCallback,
  updateLead,
} from './bad-input/operations.fixture'
import { expectProblem } from './bad-input/problem.fixture'
import { processorTimeOf } from './bad-input/processor-time'
import { startWorld, type Traces, type World } from './bad-input/world.fixture'

let world: World
let before: Traces
beforeAll(async () => {
  world = await startWorld()
  before = await world.traces()
})
afterAll(() => world.stop())

const sendTo = (operation: Operation, json: unknown) =>
  world.client.request(operation.method, operation.path(world), { json })

describe('a request with many errors has all of them named', () => {
  test.each<[string, Operation, () => unknown, string[]]>([
    [
      'an empty lead',
      createLead,
      () => ({}),
      ['name', 'first_name', 'last_name', 'email', 'phone', 'postcode', 'referrer', 'status'],
    ],
    [
      'a lead with nothing right',
      createLead,
      () => ({
        ...{
          name: 'a'.repeat(256),
          first_name: 5,
          last_name: null,
          company_name: {},
          email: 'ada',
          phone: 'none',
          mobile: '-',
        },
        ...{ postcode: 'X', referrer: 'Direct', status: 'Open', user_id: 999_999_999 },
      }),
      Object.keys(createLead.fields),
    ],
    [
      'an unknown user beside another error',
      createLead,
      () => ({ ...createLead.body(world), user_id: 999_999_999, email: 'x' }),
      ['email', 'user_id'],
    ],
    [
      "another account's user beside another error",
      createLead,
      () => ({ ...createLead.body(world), user_id: world.other.userId, email: 'x' }),
      ['email', 'user_id'],
    ],
    [
      'an unknown field that can be stored nowhere',
      createLead,
      () => ({ ...createLead.body(world), deep: [{ 'a\0': { b: '\ud800' } }], status: '' }),
      ['deep.0.a\0', 'deep.0.a\0.b', 'status'],
    ],
    [
      'an update with nothing right',
      updateLead,
      () => ({ value: -1, status: '?', user_email: '@', notify: 'yes' }),
      ['value', 'status', 'user_email', 'notify'],
    ],
    [
      'an unknown user_email beside another error',
      updateLead,
      () => ({ value: -1, user_email: 'nobody@b.example' }),
      ['value', 'user_email'],
    ],
    ['an empty appointment', scheduleAppointment, () => ({}), ['notify', 'user_id', 'date']],
    [
      'an appointment with nothing right',
      scheduleAppointment,
      () => ({ notify: 'x', user_id: 999_999_999, date: '31/02/2026 10:00' }),
      ['notify', 'user_id', 'date'],
    ],
    ['an empty callback', scheduleCallback, () => ({}), ['notify', 'user_id', 'date']],
    [
      'a callback with nothing right',
      scheduleCallback,
      () => ({ notify: 2, user_id: -1, date: 1 }),
      ['notify', 'user_id', 'date'],
    ],
    [
      'errors at every depth',
      createVisitorLead,
      () => ({
        ...createVisitorLead.body(world),
        ...{ status: 'x', user_id: world.other.userId, ip: 'x', value: 1.5 },
        quotes: [
          null,
          {
            items: [
              null,
              {},
              {
                image_id: world.other.imageId,
                price: 'x',
                product_style: { sku: '', product: {} },
                options: { a: true, b: 'c\0' },
              },
            ],
          },
        ],
      }),
      [
        ...['status', 'user_id', 'ip', 'value', 'quotes.0', 'quotes.1.items.0'],
        ...['product_style_id', 'name', 'price', 'product_style', 'image_id'].map(
          (name) => `quotes.1.items.1.${name}`,
        ),
        ...[
          'product_style_id',
          'name',
          'price',
          'image_id',
          'product_style.sku',
          'product_style.name',
          'product_style.product.name',
          'options.a',
          'options.b',
        ].map((name) => `quotes.1.items.2.${name}`),
      ],
    ],
    [
      'an unknown user and an unknown image of a sound lead',
      createVisitorLead,
      () => {
        const body = createVisitorLead.body(world)
        const [quote] = body['quotes'] as { items: object[] }[]
        return {
          ...body,
          user_id: 999_999_999,
          quotes: [{ items: [quote!.items[0], { ...quote!.items[0], image_id: 999_999_999 }] }],
        }
      },
      ['user_id', 'quotes.0.items.1.image_id'],
    ],
    ['an empty user', OPERATIONS[5]!, () => ({}), ['email', 'name']],
    ['an empty token', OPERATIONS[6]!, () => ({}), ['name', 'scopes']],
    [
      'a token with nothing right',
      OPERATIONS[6]!,
      () => ({ name: {}, scopes: ['leads', 'x', null], expires_at: 'x', test: 'x' }),
      ['name', 'scopes.1', 'scopes.2', 'expires_at', 'test'],
    ],
    [
      'an endpoint with nothing right',
      OPERATIONS[7]!,
      () => ({ url: 'x', description: 5, enabled: 'x', secret: 'short' }),
      ['url', 'description', 'enabled', 'secret'],
    ],
    [
      'a change of an endpoint with nothing right',
      OPERATIONS[8]!,
      () => ({ url: 'x', description: 5, enabled: 'x' }),
      ['url', 'description', 'enabled'],
    ],
  ])('%s', async (_what, operation, json, fields) => {
    expectProblem(await sendTo(operation, json()), 422, fields)
  })

  test('each in words of its own', async () => {
    const { errors } = expectProblem(
      await sendTo(createLead, { name: '', email: 'x', status: 'x', user_id: 'x' }),
      422,
    )
    expect(errors).toMatchObject({
      name: ['The name field is required.'],
      email: ['The email must be a valid email address.'],
      status: [expect.stringMatching(/^The selected status is invalid\. It may be: .*\bopen, /)],
      user_id: ['The user id must be an integer.'],
    })
  })

  test('and no more than an answer can hold', async () => {
    const items = Array.from({ length: 101 }, () => ({}))
    const answer = await sendTo(createVisitorLead, { quotes: Array.from({ length: 51 }, () => ({ items })) })
    expectProblem(answer, 422)
    expect(answer.bytes.length).toBeLessThan(1024 * 1024)
  })

  // The path of each error would repeat the long key.
  test.each(['a\0', '\ud800'])('even under keys as long as the body', async (wrong) => {
    const members = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, wrong]))
    const { result: answer, ms = 0 } = await processorTimeOf(world.system.pid('gateway'), () =>
      sendTo(createLead, { ['x'.repeat(900_000)]: members }),
    )
    expectProblem(answer, 422)
    expect(answer.bytes.length).toBeLessThan(2 * 1024 * 1024)
    expect(ms).toBeLessThan(2000)
  })
})

test('a body that is both invalid a thousand times and absurdly deep is refused, with a key too', async () => {
  const invalid = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, '\0']))
  const body = `${JSON.stringify(invalid).slice(0, -1)},"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  for (const headers of [{}, { 'idempotency-key': randomUUID() }]) {
    const answer = await world.client.request('POST', '/leads', {
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    expectProblem(answer, 400)
  }
})

const REFERENCES: [string, () => string][] = [
  ['unknown', () => randomUUID()],
  ["another account's", () => world.other.reference],
  ['cut', () => world.reference.slice(0, -1)],
  ['too long', () => `${world.reference}0`],
  ['without hyphens', () => world.reference.replaceAll('-', '')],
  ['in braces', () => `{${world.reference}}`],
  ['with a NUL', () => `${world.reference}%00`],
  ['with a letter that is no digit', () => `${world.reference.slice(0, -1)}g`],
  ['a number', () => '1'],
  ['empty of sense', () => 'null'],
  ['SQL', () => encodeURIComponent("' OR 1=1 --")],
  ['of folders', () => '..%2F..%2Fetc%2Fpasswd'],
  ['another literal', () => 'Statuses'],
  ['very long', () => 'a'.repeat(15_000)],
]

const AT_LEADS: [string, 'GET' | 'POST' | 'PATCH', (reference: string) => string][] = [
  ['Retrieve Lead', 'GET', (reference) => `/leads/${reference}`],
  ['Update Lead', 'PATCH', (reference) => `/leads/${reference}`],
  ['Schedule Appointment', 'POST', (reference) => `/leads/${reference}/appointments`],
  ['Schedule Callback', 'POST', (reference) => `/leads/${reference}/callbacks`],
  ['Attach a file', 'POST', (reference) => `/leads/${reference}/attachments`],
  ['the list of appointments', 'GET', (reference) => `/leads/${reference}/appointments?cursor=x`],
  ['the list of callbacks', 'GET', (reference) => `/leads/${reference}/callbacks`],
  ['the list of attachments', 'GET', (reference) => `/leads/${reference}/attachments?cursor=%00`],
  ['the download of an attachment', 'GET', (reference) => `/leads/${reference}/attachments/1`],
]

const FILE = [
  { name: 'name', value: 'Plan' },
  { name: 'file', value: 'text', fileName: 'plan.txt', type: 'text/plain' },
]

describe.each(REFERENCES)('a reference that is %s', (_what, reference) => {
  test.each(AT_LEADS)('is a 404 of %s, whatever else is wrong', async (name, method, path) => {
    const at = path(reference())
    const sound = { ...updateLead.body(world), ...scheduleAppointment.body(world) }
    const bodies =
      name === 'Attach a file'
        ? [{ multipart: FILE }, { multipart: [] }]
        : [{ json: sound }, { json: { value: -1, notify: 'x' } }, {}]
    for (const options of method === 'GET' ? [{}] : bodies) {
      expectProblem(await world.client.request(method, at, options), 404)
    }
  })
})

test('a reference in capitals is the same lead', async () => {
  const answer = await world.client.request('GET', `/leads/${world.reference.toUpperCase()}`)
  expect(answer).toMatchObject({ status: 200, json: { data: { reference: world.reference } } })
})

describe.each([
  '0',
  '-1',
  '999999999',
  '9007199254740993',
  '99999999999999999999999',
  '1.5',
  '1e3',
  'x',
  '%00',
  '%31%00',
  '1%2F2',
  'null',
])('the id %s', (id) => {
  test.each<[string, string]>([
    ['GET', `/manage/webhook-endpoints/${id}`],
    ['PATCH', `/manage/webhook-endpoints/${id}`],
    ['DELETE', `/manage/webhook-endpoints/${id}`],
    ['DELETE', `/manage/tokens/${id}`],
    ['GET', `/manage/users/${id}`],
    ['PATCH', `/manage/users/${id}`],
    ['DELETE', `/manage/users/${id}`],
    ['GET', `/manage/deliveries/${id}`],
    ['GET', `/manage/notifications/${id}`],
  ])('is a 404 of %s %s', async (method, path) => {
    expectProblem(
      await world.client.request(method, path, method === 'PATCH' ? { json: { url: 'x' } } : {}),
      404,
    )
  })
})

test("another account's endpoint and token are a 404", async () => {
  const token = world.other.token
  expectProblem(
    await world.client.request('PATCH', `/manage/webhook-endpoints/${world.idleEndpointId}`, {
      token,
      json: { enabled: true },
    }),
    404,
  )
  expectProblem(
    await world.client.request('DELETE', `/manage/webhook-endpoints/${world.idleEndpointId}`, { token }),
    404,
  )
})

describe('what comes first', () => {
  const unknown = () => `/leads/${randomUUID()}`
  const broken = { body: '{', headers: { 'content-type': 'application/json' } }
  const typeless = { body: 'x', headers: { 'content-type': 'text/plain' } }

  test.each<[string, () => string, string]>([
    ['PATCH', unknown, 'Update Lead'],
    ['POST', () => `${unknown()}/appointments`, 'Schedule Appointment'],
    ['POST', () => `${unknown()}/callbacks`, 'Schedule Callback'],
  ])('is, for %s: the token, then the body as such, then the lead, then its fields', async (method, path) => {
    for (const options of [broken, typeless, { json: [] }, { json: {} }]) {
      for (const token of ['', 'lw_live_wrong']) {
        expectProblem(await world.client.request(method, path(), { ...options, token }), 401)
      }
    }
    expectProblem(await world.client.request(method, path(), typeless), 415)
    expectProblem(await world.client.request(method, path(), broken), 400)
    expectProblem(await world.client.request(method, path(), { json: [] }), 422, [])
    expectProblem(await world.client.request(method, path(), { json: { value: -1 } }), 404)
  })
})

test('and leaves nothing behind', () => world.expectNothingLeft(before))
