import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors)
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})

const actor = { tokenId: 5, tokenName: 'CRM', requestId: 'request-1' }

const readAudit = async (accountId: number) =>
  (await service.audit.listAudit({ accountId })).entries
    .map(({ action, targetType, targetId, tokenId, tokenName, requestId, changes }) => ({
      action,
      target: [targetType, targetId],
      by: [tokenId, tokenName, requestId],
      changes: JSON.parse(changes),
    }))
    .reverse()

const by = [5, 'CRM', 'request-1']
const noActor = [undefined, undefined, undefined]

test('each change of an endpoint is recorded with its actor, and without secrets', async () => {
  const { client } = service
  const created = await client.createWebhookEndpoint(
    { accountId: 1, url: receiver.url, description: 'A', enabled: true },
    { actor },
  )
  const endpointId = created.endpoint!.id
  const key = { accountId: 1, endpointId }
  await client.updateWebhookEndpoint({ ...key, enabled: false, description: 'A' }, { actor })
  await client.updateWebhookEndpoint({ ...key, enabled: false })
  await client.updateWebhookEndpoint(key)
  await client.updateWebhookEndpoint({ ...key, enabled: true, description: '' })
  const rotated = await client.rotateWebhookSecret({ ...key, overlapMs: 1000 }, { actor })
  const tested = await client.testWebhookEndpoint({ ...key, accountKey: 'key-of-1' }, { actor })
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const deliveryId = tested.delivery!.id
  await eventually(() => client.retryDelivery({ accountId: 1, deliveryId }, { actor }))
  const since = '2026-01-01T00:00:00Z'
  await client.recoverWebhookEndpoint({ ...key, since }, { actor })
  await client.deleteWebhookEndpoint(key, { actor })
  const endpoint = ['webhook_endpoint', endpointId]
  const entries = await readAudit(1)
  expect(entries).toEqual([
    {
      action: 'webhook_endpoint.created',
      target: endpoint,
      by,
      changes: {
        url: { from: null, to: receiver.url },
        description: { from: null, to: 'A' },
        enabled: { from: null, to: true },
        events: { from: null, to: ['lead.created'] },
        leads: { from: null, to: 'all' },
      },
    },
    {
      action: 'webhook_endpoint.updated',
      target: endpoint,
      by,
      changes: { enabled: { from: true, to: false } },
    },
    {
      action: 'webhook_endpoint.updated',
      target: endpoint,
      by: noActor,
      changes: { enabled: { from: false, to: true }, description: { from: 'A', to: null } },
    },
    {
      action: 'webhook_endpoint.secret_rotated',
      target: endpoint,
      by,
      changes: { old_secret_until: { from: null, to: rotated.oldSecretUntil } },
    },
    {
      action: 'webhook_endpoint.tested',
      target: endpoint,
      by,
      changes: { delivery_id: { from: null, to: deliveryId } },
    },
    { action: 'delivery.retried', target: ['delivery', deliveryId], by, changes: {} },
    {
      action: 'webhook_endpoint.recovered',
      target: endpoint,
      by,
      changes: { since: { from: null, to: since } },
    },
    {
      action: 'webhook_endpoint.deleted',
      target: endpoint,
      by,
      changes: {
        url: { from: receiver.url, to: null },
        enabled: { from: true, to: null },
        events: { from: ['lead.created'], to: null },
        leads: { from: 'all', to: null },
      },
    },
  ])
  for (const { secret } of [created, rotated]) expect(JSON.stringify(entries)).not.toContain(secret.slice(6))
})

test('a refused change is not recorded', async () => {
  const { client } = service
  const { id: endpointId } = await service.endpoint(2, receiver.url)
  const before = await readAudit(2)
  const key = { accountId: 2, endpointId }
  const refused = [
    () => client.createWebhookEndpoint({ accountId: 2, url: 'nonsense', enabled: true }),
    () => client.updateWebhookEndpoint({ ...key, url: 'nonsense' }),
    () => client.updateWebhookEndpoint({ ...key, accountId: 3, enabled: false }),
    () => client.deleteWebhookEndpoint({ ...key, accountId: 3 }),
    () => client.rotateWebhookSecret({ ...key, accountId: 3, overlapMs: 0 }),
    () => client.testWebhookEndpoint({ ...key, accountId: 3, accountKey: 'key' }),
    () => client.recoverWebhookEndpoint({ ...key, since: 'yesterday' }),
    () => client.recoverWebhookEndpoint({ ...key, accountId: 3, since: '2026-01-01T00:00:00Z' }),
    () => client.retryDelivery({ accountId: 2, deliveryId: 987_654_321 }),
  ]
  for (const call of refused) await expect(call()).rejects.toMatchObject({ code: expect.any(String) })
  expect(await readAudit(2)).toEqual(before)
  expect(await readAudit(3)).toEqual([])
})
