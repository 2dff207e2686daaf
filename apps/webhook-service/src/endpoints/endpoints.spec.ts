import { eventually, manualClock, type Receiver, startReceiver } from '@leadwire/test-kit'
import { createUrlCheck } from '../egress/create-url-check'
import { createEgressGuard } from '../egress/egress-guard'
import { knownAddresses } from '../egress/resolve-host'
import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver
const clock = manualClock()

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors, { clock })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})
beforeEach(() => {
  receiver.clear()
  receiver.answerWith({ status: 200 })
})

const deliveries = async (accountId: number) =>
  (await service.client.listDeliveries({ accountId, page: 1 })).deliveries
// Selects the requests of one account, because advancing the clock may cause retries of other tests.
const received = (accountId: number) =>
  receiver.requests.filter(({ headers }) => headers['x-service-account-key'] === `key-of-${accountId}`)
const eventuallyHas = (accountId: number, expected: object) =>
  eventually(async () => expect((await deliveries(accountId))[0]).toMatchObject(expected))

test('an endpoint can be created, read, changed and deleted only by its account', async () => {
  const { client } = service
  const made = await client.createWebhookEndpoint({
    accountId: 1,
    url: 'https://example.com/a',
    description: 'A',
    enabled: true,
  })
  expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
  const endpointId = made.endpoint!.id
  expect(made.endpoint).toMatchObject({ url: 'https://example.com/a', description: 'A', enabled: true })
  expect(await client.retrieveWebhookEndpoint({ accountId: 1, endpointId })).toEqual({
    endpoint: made.endpoint,
  })
  expect(await client.listWebhookEndpoints({ accountId: 1 })).toEqual({ endpoints: [made.endpoint] })
  expect(await client.listWebhookEndpoints({ accountId: 2 })).toEqual({ endpoints: [] })
  const changed = await client.updateWebhookEndpoint({
    accountId: 1,
    endpointId,
    url: 'http://example.com/b',
    description: '',
  })
  expect(changed.endpoint).toMatchObject({
    url: 'http://example.com/b',
    description: undefined,
    enabled: true,
  })
  expect(await client.updateWebhookEndpoint({ accountId: 1, endpointId })).toEqual(changed)
  const missing = { code: 'not_found' }
  await expect(client.retrieveWebhookEndpoint({ accountId: 2, endpointId })).rejects.toMatchObject(missing)
  await expect(
    client.updateWebhookEndpoint({ accountId: 2, endpointId, enabled: false }),
  ).rejects.toMatchObject(missing)
  await expect(
    client.updateWebhookEndpoint({ accountId: 2, endpointId, url: 'nonsense' }),
  ).rejects.toMatchObject(missing)
  await expect(client.deleteWebhookEndpoint({ accountId: 2, endpointId })).rejects.toMatchObject(missing)
  await client.deleteWebhookEndpoint({ accountId: 1, endpointId })
  await expect(client.retrieveWebhookEndpoint({ accountId: 1, endpointId })).rejects.toMatchObject(missing)
  await expect(client.deleteWebhookEndpoint({ accountId: 1, endpointId })).rejects.toMatchObject(missing)
})

test.each([
  'nonsense',
  '',
  'ftp://example.com/',
  'http:example.com',
  'https://user@example.com/',
  'https://user:password@example.com/',
  'https://',
  'https://exam\nple.com/',
  'https://example.com/\u202e',
  'https://example.com/\0',
])('%j is refused as a URL', async (url) => {
  await expect(
    service.client.createWebhookEndpoint({ accountId: 1, url, enabled: true }),
  ).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { url: [expect.any(String)] },
  })
})

test.each([
  ['http://127.0.0.1/', '127.0.0.1 is not a public address'],
  ['http://[::1]:80/', '::1 is not a public address'],
  ['http://2130706433/', '127.0.0.1 is not a public address'],
  ['https://localhost/', 'localhost does not resolve to a public address'],
])('%s is refused unless WEBHOOK_ALLOW_HOSTS allows it or the endpoint already has it', async (url, reason) => {
  const { id: endpointId } = await service.endpoint(15, url)
  const strict = await startService(doors, { WEBHOOK_ALLOW_HOSTS: ['127.0.0.2'] })
  try {
    const refused = { code: 'invalid', fieldErrors: { url: [expect.stringContaining(reason)] } }
    const { client } = strict
    const created = (over: object) =>
      client.createWebhookEndpoint({ accountId: 15, url, enabled: true, ...over })
    await expect(created({})).rejects.toMatchObject(refused)
    const update = (change: string) =>
      client.updateWebhookEndpoint({ accountId: 15, endpointId, url: change, enabled: false })
    await expect(update(`${url}other`)).rejects.toMatchObject(refused)
    expect(await update(url)).toMatchObject({ endpoint: { url, enabled: false } })
    for (const taken of ['http://127.0.0.2/', 'https://nowhere.invalid/', 'https://8.8.8.8/'])
      expect(await update(taken)).toMatchObject({ endpoint: { url: taken } })
  } finally {
    await strict.stop()
  }
})

test('a name that is not resolved, or also has a public address, may be registered', async () => {
  const guard = createEgressGuard([])
  const check = (addresses: () => Promise<string[]>) =>
    createUrlCheck({ guard, resolve: async () => knownAddresses(await addresses()) })('https://a.example/')
  expect(await check(() => new Promise(() => undefined))).toBeUndefined()
  expect(await check(async () => ['10.0.0.1', '8.8.8.8'])).toBeUndefined()
  expect(await check(async () => ['10.0.0.1', '::1'])).toMatch(
    /^Webhooks would be blocked: a\.example does not resolve to a public address/,
  )
})

test('a disabled endpoint holds its deliveries, and sends due ones when it is enabled again', async () => {
  receiver.answerWith({ status: 500 })
  const { id } = await service.endpoint(10, receiver.url)
  const endpoint = { accountId: 10, endpointId: id }
  await doors.publish(doors.event(10))
  await eventuallyHas(10, { status: 'pending', attemptCount: 1 })
  await service.client.updateWebhookEndpoint({ ...endpoint, enabled: false })
  await eventuallyHas(10, { status: 'held', attemptCount: 1, nextAttemptAt: expect.any(String) })
  await doors.publish(doors.event(10))
  await eventuallyHas(10, { status: 'held', attemptCount: 0 })
  clock.advance(60_000)
  await doors.polls()
  expect(received(10)).toHaveLength(1)

  await service.client.updateWebhookEndpoint({ ...endpoint, enabled: true })
  await eventually(() => expect(received(10)).toHaveLength(3))
  await eventually(async () =>
    expect((await deliveries(10)).map(({ status, attemptCount }) => [status, attemptCount])).toEqual([
      ['pending', 1],
      ['pending', 2],
    ]),
  )
})

test('deleting an endpoint cancels its pending and held deliveries', async () => {
  receiver.answerWith({ status: 500 })
  const { id } = await service.endpoint(11, receiver.url)
  const { id: held } = await service.endpoint(11, receiver.url, { enabled: false })
  await doors.publish(doors.event(11))
  await eventually(() => expect(received(11)).toHaveLength(1))
  await eventually(async () =>
    expect((await deliveries(11)).map(({ status, attemptCount }) => [status, attemptCount]).sort()).toEqual([
      ['held', 0],
      ['pending', 1],
    ]),
  )
  await service.client.deleteWebhookEndpoint({ accountId: 11, endpointId: id })
  await service.client.deleteWebhookEndpoint({ accountId: 11, endpointId: held })
  expect((await deliveries(11)).map(({ status, nextAttemptAt }) => [status, nextAttemptAt])).toEqual([
    ['cancelled', undefined],
    ['cancelled', undefined],
  ])
  await doors.publish(doors.event(11))
  clock.advance(60_000)
  await doors.polls()
  expect(received(11)).toHaveLength(1)
  expect(await deliveries(11)).toHaveLength(2)
})

test('an attempt in flight is recorded after its endpoint was deleted or disabled', async () => {
  receiver.answerWith(({ url }) => ({ status: url.endsWith('/ok') ? 200 : 500, delayMs: 500 }))
  const { id: ok } = await service.endpoint(12, `${receiver.url}/ok`)
  const { id: failing } = await service.endpoint(12, receiver.url)
  const { id: disabled } = await service.endpoint(12, receiver.url)
  await doors.publish(doors.event(12))
  await eventually(() => expect(received(12)).toHaveLength(3))
  await service.client.deleteWebhookEndpoint({ accountId: 12, endpointId: ok })
  await service.client.deleteWebhookEndpoint({ accountId: 12, endpointId: failing })
  await service.client.updateWebhookEndpoint({ accountId: 12, endpointId: disabled, enabled: false })
  await eventually(async () => {
    const found = await deliveries(12)
    expect(
      new Map(found.map(({ endpointId, status, attemptCount }) => [endpointId, [status, attemptCount]])),
    ).toEqual(
      new Map([
        [ok, ['delivered', 1]],
        [failing, ['cancelled', 1]],
        [disabled, ['held', 1]],
      ]),
    )
  })
})

test('a retry is sent to the current URL of the endpoint', async () => {
  receiver.answerWith({ status: 500 })
  const { id } = await service.endpoint(13, receiver.url)
  await doors.publish(doors.event(13))
  await eventuallyHas(13, { attemptCount: 1 })
  await service.client.updateWebhookEndpoint({ accountId: 13, endpointId: id, url: `${receiver.url}/moved` })
  clock.advance(60_000)
  await eventually(() => expect(received(13).at(-1)?.url).toBe('/hooks/leads/moved'))
})

test('deliveries are listed 20 to a page, newest first, by endpoint, status and lead, with an exact count', async () => {
  const { id } = await service.endpoint(14, receiver.url)
  const { id: off } = await service.endpoint(14, receiver.url, { enabled: false })
  const events = Array.from({ length: 15 }, () => doors.event(14))
  await doors.publish(...events)
  const list = (filter: object) => service.client.listDeliveries({ accountId: 14, page: 1, ...filter })
  await eventually(async () => expect((await list({ status: 'delivered' })).total).toBe(15))
  const [first, second] = [await list({}), await list({ page: 2 })]
  expect([first.total, first.perPage, first.deliveries.length, second.deliveries.length]).toEqual([
    30, 20, 20, 10,
  ])
  const ids = [...first.deliveries, ...second.deliveries].map((delivery) => delivery.id)
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a))
  expect(await list({ page: 3 })).toMatchObject({ deliveries: [], total: 30 })
  expect((await list({ endpointId: id })).deliveries.every(({ status }) => status === 'delivered')).toBe(true)
  expect(await list({ endpointId: off, status: 'held' })).toMatchObject({ total: 15 })
  expect(await list({ leadReference: events[3]!.leadReference.toUpperCase() })).toMatchObject({ total: 2 })
  await expect(service.client.retrieveDelivery({ accountId: 1, deliveryId: ids[0]! })).rejects.toMatchObject({
    code: 'not_found',
  })
})
