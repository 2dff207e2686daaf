import { ServiceError } from '@leadwire/service-kit'
import { type RunningGateway, startGateway } from './gateway.fixture'

// The specs in tools/e2e test the management API on real services. A test belongs here only if the test
// concerns the gateway alone, inspects the gateway, or needs a service that fails.

const NOW = '2026-11-21T09:30:00.123456Z'
const endpoint = {
  id: 1,
  url: 'https://crm.example.com/',
  enabled: true,
  events: ['lead.created'],
  leads: 'all',
  headerNames: [],
  createdAt: NOW,
  updatedAt: NOW,
}
const delivery = {
  id: 4,
  endpointId: 1,
  eventId: 'e',
  leadReference: 'r',
  status: 'pending',
  attemptCount: 1,
  nextAttemptAt: NOW,
  createdAt: NOW,
  updatedAt: NOW,
}

let gateway: RunningGateway
let asked: object[]
let findLeadNames = async () => ({ leads: [{ reference: 'r', name: 'Bay' }] })

beforeAll(async () => {
  gateway = await startGateway({
    leads: { findLeadNames: () => findLeadNames() },
    accounts: {
      retrieveAccount: async () => ({ account: { id: 3, apiKey: 'the-key', name: 'Clear Windows' } }),
    },
    webhooks: {
      testWebhookEndpoint: async (request) => {
        asked.push(request)
        const attempt = { number: 1, startedAt: NOW, durationMs: 12, status: 302, error: 'http_status' }
        return { delivery, attempt }
      },
      retrieveWebhookEndpoint: async (request) => {
        asked.push(request)
        return { endpoint }
      },
      listDeliveries: async () => ({ deliveries: [delivery], perPage: 20, total: 1, totalCapped: false }),
    },
  })
})
beforeEach(() => {
  asked = []
})
afterAll(() => gateway.stop())

const call = async (method: 'GET' | 'POST', path: string, payload?: object) => {
  const response = await gateway.send({ method, url: `/manage/${path}`, ...(payload && { payload }) })
  return { status: response.statusCode, body: response.json() }
}

describe('a filter with a key that is not known', () => {
  const url = 'https://crm.example.com/'
  const refusal = (key: string) => ({
    [`filter.${key}`]: [
      `The key ${key || '""'} is not allowed. Allowed keys: status, referrer, postcode, user_email.`,
    ],
  })

  test.each<[filter: string, keys: string[]]>([
    ['{"status":["open"],"colour":["red"]}', ['colour']],
    ['{"Status":["open"],"filter.status":["open"]}', ['Status', 'filter.status']],
    ['{"colour":null}', ['colour']],
    ['{"colour":""}', ['colour']],
    ['{"__proto__":{"status":["open"]}}', ['__proto__']],
    ['{"constructor":["open"]}', ['constructor']],
    ['{"0":["open"]}', ['0']],
    ['{"":["open"]}', ['']],
  ])('%s is refused', async (filter, keys) => {
    const expected = { status: 422, errors: Object.assign({}, ...keys.map(refusal)) }
    const send = async (method: 'POST' | 'PATCH', path: string) => {
      const response = await gateway.send({
        method,
        url: `/manage/webhook-endpoints${path}`,
        headers: { 'content-type': 'application/json' },
        payload: `{"url":"${url}","filter":${filter}}`,
      })
      return { status: response.statusCode, errors: response.json().errors }
    }
    expect([await send('POST', ''), await send('PATCH', '/1')]).toEqual([expected, expected])
    // The gateway refused both requests itself. Its only call looked up the endpoint that PATCH names.
    expect(asked).toEqual([{ accountId: 3, endpointId: 1 }])
  })

  test('is refused in a form too', async () => {
    const response = await gateway.send({
      method: 'PATCH',
      url: '/manage/webhook-endpoints/1',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'filter[colour]=red&filter[status][]=open',
    })
    expect([response.statusCode, response.json().errors]).toEqual([422, refusal('colour')])
  })

  test('is named with the character that no reader sees', async () => {
    const { body } = await call('POST', 'webhook-endpoints', { url, filter: { 'status\u200b': ['open'] } })
    expect(body.errors['filter.status\u200b']).toEqual([
      expect.stringMatching(/user_email\. The key has the invisible character U\+200B\.$/),
    ])
  })

  test('is named with its beginning, and of many some are', async () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, 1]))
    const filter = { ['k'.repeat(5000)]: 1, ...many }
    const { status, body } = await call('POST', 'webhook-endpoints', { url, filter })
    expect(status).toBe(422)
    expect(JSON.stringify(body).length).toBeLessThan(10_000)
  })
})

test('a url with a mebibyte of accents in its host is not parsed, which takes half a minute', async () => {
  const canParse = jest.spyOn(URL, 'canParse')
  const url = `https://a${'\u0301\u0316'.repeat(250_000)}.example.com/`
  const { status, body } = await call('POST', 'webhook-endpoints', { url })
  expect([status, Object.keys(body.errors)]).toEqual([422, ['url']])
  expect(canParse).not.toHaveBeenCalledWith(url)
  canParse.mockRestore()
})

test('a test send is one call, which brings the delivery and its first attempt', async () => {
  const { status, body } = await call('POST', 'webhook-endpoints/1/test')
  expect(status).toBe(200)
  expect(body.data).toMatchObject({
    id: 4,
    attempt: { number: 1, status: 302, error: 'http_status' },
    filter: null,
  })
  expect(asked).toEqual([expect.objectContaining({ accountId: 3, endpointId: 1, accountKey: 'the-key' })])
})

test('deliveries come with the names of their leads, and without them while leads-service is unavailable', async () => {
  const list = async () => (await call('GET', 'deliveries')).body.data
  expect(await list()).toMatchObject([{ id: 4, lead_name: 'Bay' }])
  findLeadNames = async () => {
    throw new ServiceError('unavailable', 'The service is unavailable.')
  }
  expect(await list()).toMatchObject([{ id: 4, lead_name: null }])
})
