import { openDoors, startService } from './service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors)
})
afterAll(async () => {
  await service.stop()
  await doors.close()
})

const ENDPOINT = { accountId: 1, endpointId: 1 }
const CALLS: [operation: string, request: object, wrong: object[]][] = [
  ['listWebhookEndpoints', { accountId: 1 }, [{ accountId: 0 }, { accountId: -1 }]],
  [
    'createWebhookEndpoint',
    { accountId: 1, url: 'https://example.com/', enabled: true },
    [
      { accountId: -1 },
      { url: 'https://example.com/\0' },
      { description: 'a\0b' },
      { description: 'x'.repeat(1001) },
      { secret: 'sixteen bytes...\0' },
    ],
  ],
  ['retrieveWebhookEndpoint', ENDPOINT, [{ endpointId: -1 }, { accountId: 0 }]],
  ['updateWebhookEndpoint', { ...ENDPOINT, enabled: true }, [{ endpointId: 0 }, { description: '\0' }]],
  ['deleteWebhookEndpoint', ENDPOINT, [{ endpointId: -5 }]],
  ['rotateWebhookSecret', { ...ENDPOINT, overlapMs: 0 }, [{ accountId: -1 }]],
  [
    'testWebhookEndpoint',
    { ...ENDPOINT, accountKey: 'key' },
    [{ accountKey: '\0' }, { accountKey: 'a\r\nb' }, { endpointId: 0 }],
  ],
  [
    'recoverWebhookEndpoint',
    { ...ENDPOINT, since: '2026-01-01T00:00:00Z' },
    [{ since: '\0' }, { since: 'soon' }, { accountId: 0 }],
  ],
  [
    'replayWebhookEndpoint',
    { ...ENDPOINT, dryRun: true },
    [
      ...[
        { afterSequence: -1 },
        { untilSequence: 0 },
        { afterSequence: 5, untilSequence: 5 },
        { accountId: 0 },
      ],
      ...[{ from: 'soon' }, { to: '0000-01-01T00:00:00Z' }, { state: 'held' }, { types: { types: [] } }],
      ...[{ from: '2026-01-02T00:00:00Z', to: '2026-01-02T00:00:00Z' }, { types: { types: ['lead.lost'] } }],
    ],
  ],
  ['retrieveReplay', { ...ENDPOINT, replayId: 1 }, [{ replayId: 0 }]],
  ['cancelReplay', { ...ENDPOINT, replayId: 1 }, [{ replayId: -1 }, { accountId: 0 }]],
  ['listWebhookEndpointHealth', { accountId: 1 }, [{ accountId: -1 }]],
  [
    'listDeliveries',
    { accountId: 1, page: 1 },
    [{ status: '\0' }, { leadReference: '\0' }, { endpointId: -1 }],
  ],
  ['retrieveDelivery', { accountId: 1, deliveryId: 1 }, [{ deliveryId: -1 }]],
  ['retryDelivery', { accountId: 1, deliveryId: 1 }, [{ deliveryId: 0 }, { accountId: -1 }]],
]

test.each(CALLS)('%s refuses arguments that are wrong as invalid', async (operation, request, wrong) => {
  const call = (service.client as unknown as Record<string, (request: object) => Promise<unknown>>)[
    operation
  ]!
  for (const change of wrong)
    await expect(call({ ...request, ...change })).rejects.toMatchObject({ code: 'invalid' })
})

test('what is no id of an event is not stored, and harms none beside it', async () => {
  expect(await service.client.findStoredEvents({ eventIds: ['\0', 'nonsense', '-1'] })).toEqual({
    eventIds: [],
    refused: [],
  })
})
