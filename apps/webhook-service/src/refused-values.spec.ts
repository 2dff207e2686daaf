import { openDoors, startService } from './service.fixture'

// The gateway and the command line validate requests and never send these values. If another client sends
// such a value, the call fails with `bad_request`.

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let key: { accountId: number; endpointId: number }

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors)
  const { endpoint } = await service.client.createWebhookEndpoint(ENDPOINT)
  key = { accountId: 1, endpointId: endpoint!.id }
})
afterAll(async () => {
  await service.stop()
  await doors.close()
})

const ENDPOINT = { accountId: 1, url: 'http://127.0.0.1:9/', enabled: true }
const LONG = 'x'.repeat(256)
const HEADERS = Array.from({ length: 11 }, (_, index) => ({ name: `X-${index}`, value: '1' }))

const listCalls = (): [what: string, call: () => Promise<unknown>][] => {
  const { client } = service
  const recover = { ...key, since: '2026-01-01T00:00:00Z' }
  const replay = { ...key, dryRun: true }
  const list = { accountId: 1, page: 1 }
  const erasure = { accountId: 1, leadReference: 'no uuid', eventIds: [], keptEventIds: [], tombstone: false }
  return [
    ['a long description', () => client.createWebhookEndpoint({ ...ENDPOINT, description: LONG })],
    ['NUL in a description', () => client.updateWebhookEndpoint({ ...key, description: '\0' })],
    ['unknown leads', () => client.updateWebhookEndpoint({ ...key, leads: 'some' })],
    ['too many headers', () => client.createWebhookEndpoint({ ...ENDPOINT, headers: { headers: HEADERS } })],
    ['an unknown sample', () => client.testWebhookEndpoint({ ...key, accountKey: 'key', type: 'lead.lost' })],
    ['an unreadable time', () => client.recoverWebhookEndpoint({ ...recover, since: 'soon' })],
    ['an unknown state', () => client.recoverWebhookEndpoint({ ...recover, state: 'held' })],
    ['an unreadable start', () => client.replayWebhookEndpoint({ ...replay, from: 'soon' })],
    ['a year 0', () => client.replayWebhookEndpoint({ ...replay, to: '0000-01-01T00:00:00Z' })],
    ['another state', () => client.replayWebhookEndpoint({ ...replay, state: 'held' })],
    ['NUL in a status', () => client.listDeliveries({ ...list, status: '\0' })],
    ['NUL in a reference', () => client.listDeliveries({ ...list, leadReference: '\0' })],
    ['a reference', () => client.listDeliveries({ ...list, leadReference: 'nonsense' })],
    ['an unreadable day', () => client.listDeliveries({ ...list, from: 'soon' })],
    ['events that have no ids', () => client.check({ eventIds: ['x'] })],
    ['the lead of an erasure', () => client.eraseLeadEvents(erasure)],
    ['the lead of a removal', () => client.removeLeadEvents({ accountId: 1, leadReferences: ['x'] })],
  ]
}

test('calls refuse values that cannot be stored or compared', async () => {
  const calls = listCalls()
  const codes: [string, string][] = []
  for (const [what, call] of calls) {
    const code = await call().then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    )
    codes.push([what, code])
  }
  expect(codes).toEqual(calls.map(([what]) => [what, 'bad_request']))
})

test('a reference to a missing row is not found', async () => {
  const { client } = service
  for (const id of [0, -1, 987_654_321]) {
    const other = { ...key, endpointId: id }
    for (const call of [
      () => client.retrieveWebhookEndpoint(other),
      () => client.updateWebhookEndpoint({ ...other, enabled: true }),
      () => client.deleteWebhookEndpoint(other),
      () => client.rotateWebhookSecret({ ...other, overlapMs: 0 }),
      () => client.testWebhookEndpoint({ ...other, accountKey: 'key' }),
      () => client.retrieveReplay({ ...key, replayId: id }),
      () => client.cancelReplay({ ...key, replayId: id }),
      () => client.retrieveDelivery({ accountId: 1, deliveryId: id }),
      () => client.retryDelivery({ accountId: 1, deliveryId: id }),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'not_found' })
    expect(await client.listWebhookEndpoints({ accountId: id })).toEqual({ endpoints: [] })
  }
})

test.each([
  'ftp://example.com/',
  'https://me:word@example.com/',
  'https://example.com/\0',
  'example.com',
])('the egress check refuses %j', async (url) => {
  const refusal = { code: 'invalid', fieldErrors: { url: [expect.stringContaining('http or https')] } }
  await expect(service.client.createWebhookEndpoint({ ...ENDPOINT, url })).rejects.toMatchObject(refusal)
  await expect(service.client.updateWebhookEndpoint({ ...key, url })).rejects.toMatchObject(refusal)
})

test('an invalid event id is ignored and does not affect the valid ids', async () => {
  expect(await service.client.findStoredEvents({ eventIds: ['\0', 'nonsense', '-1'] })).toEqual({
    eventIds: [],
    refused: [],
  })
})
